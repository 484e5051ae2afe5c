/*
 * The event fields that a calendar file can hold, with the names of the API. Used for reading
 * (`ical-read.ts`) and writing (`ical-write.ts`).
 */

import type { EventWhen, Recurrence } from '../recurrence/series-source.ts';
import { withoutControls } from '../../platform/base/text/plain-text.ts';

export type IcalWhen = EventWhen;
export type IcalStatus = 'confirmed' | 'tentative' | 'cancelled';
export type IcalAnswer = 'yes' | 'no' | 'maybe' | 'noreply';

export interface IcalParticipant {
  /** Lower case. */
  email: string;
  name: string;
  status: IcalAnswer;
  comment: string | null;
  /** Never in a file: iCalendar has no property for it. */
  phone_number: null;
}

export interface IcalConferencing {
  provider: string;
  details: {
    meeting_code?: string;
    phone?: string[];
    password?: string;
    pin?: string;
    url?: string;
  };
}

/** The fields that are read, merged and written. */
export interface IcalFields {
  title: string;
  description: string;
  location: string;
  when: IcalWhen;
  busy: boolean;
  status: IcalStatus;
  visibility: 'public' | 'private' | null;
  participants: IcalParticipant[];
  recurrence: Recurrence | null;
  conferencing: IcalConferencing | null;
  reminders: { reminder_minutes: string; reminder_method: string } | null;
}

/** The names of the fields. */
export const ICAL_FIELDS = [
  'title',
  'description',
  'location',
  'when',
  'busy',
  'status',
  'visibility',
  'participants',
  'recurrence',
  'conferencing',
  'reminders',
] as const satisfies readonly (keyof IcalFields)[];

/** PARTSTAT of each participant status (RFC 5545 3.2.12). */
export const PARTSTAT = {
  yes: 'ACCEPTED',
  no: 'DECLINED',
  maybe: 'TENTATIVE',
  noreply: 'NEEDS-ACTION',
} as const satisfies Record<IcalAnswer, string>;

/** Our property for conference details that have no standard property. */
export const CONFERENCING_PROPERTY = 'x-carillon-conferencing';

/**
 * Makes a URL safe as a value of type URI, which has no escaping. A line break would begin another
 * property. Some servers treat commas and semicolons as separators and drop the text after them.
 */
export function uriValue(url: string): string {
  return url
    .replaceAll(/\p{Cc}+/gu, '')
    .replaceAll(',', '%2C')
    .replaceAll(';', '%3B');
}

/** The email address of an ATTENDEE or ORGANIZER; `undefined` if there is none. */
export function emailOf(value: unknown, emailParameter: string | undefined): string | undefined {
  const text = typeof value === 'string' ? value : '';
  const mailto = /^mailto:(.+)$/i.exec(text.trim())?.[1];
  const email = withoutControls(mailto ?? emailParameter ?? '')
    .trim()
    .toLowerCase();
  return /^[^\s@]+@[^\s@]+$/.test(email) ? email : undefined;
}

/**
 * An event that cannot be written to a calendar file. `message` names the field and may be shown to
 * clients.
 */
export class UnwritableEventError extends Error {
  override name = 'UnwritableEventError';
}

/**
 * The fields of an event that is given with the names of the API. Absent fields get their default.
 * @throws {UnwritableEventError} if the event has no time
 */
export function fieldsOf(content: Readonly<Record<string, unknown>>): IcalFields {
  const given = Object.fromEntries(
    ICAL_FIELDS.filter((name) => content[name] !== undefined).map((name) => [name, content[name]]),
  );
  return { ...EMPTY, ...given, when: whenOf(content['when']) } as IcalFields;
}

const FORMS = [
  ['time', 'time'],
  ['start_time', 'timespan'],
  ['date', 'date'],
  ['start_date', 'datespan'],
] as const;

/**
 * Adds the form of `when`, which its keys decide.
 * @throws {UnwritableEventError} if no form matches
 */
function whenOf(value: unknown): IcalFields['when'] {
  const form = FORMS.find(([key]) => typeof value === 'object' && value !== null && key in value);
  if (!form)
    throw new UnwritableEventError('when: must be a time, a timespan, a date or a datespan');
  return { ...(value as IcalFields['when']), object: form[1] } as IcalFields['when'];
}

const EMPTY: Omit<IcalFields, 'when'> = {
  title: '',
  description: '',
  location: '',
  busy: true,
  status: 'confirmed',
  visibility: null,
  participants: [],
  recurrence: null,
  conferencing: null,
  reminders: null,
};
