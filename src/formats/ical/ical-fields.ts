/*
 * What of an event a calendar file can hold, by the wire's names (api facts 7.3). Both directions go through it:
 * `ical-read.ts` and `ical-write.ts`.
 */

import { withoutControls } from '../../platform/base/text/plain-text.ts';

/** The four forms of `when`; times in Unix seconds, dates as YYYY-MM-DD and both included. */
export type IcalWhen =
  | { object: 'time'; time: number; timezone?: string }
  | {
      object: 'timespan';
      start_time: number;
      end_time: number;
      start_timezone?: string;
      end_timezone?: string;
    }
  | { object: 'date'; date: string }
  | { object: 'datespan'; start_date: string; end_date: string };

export type IcalStatus = 'confirmed' | 'tentative' | 'cancelled';
export type IcalAnswer = 'yes' | 'no' | 'maybe' | 'noreply';

export interface IcalParticipant {
  /** Lower case. */
  email: string;
  name: string;
  status: IcalAnswer;
  comment: string | null;
  /** Never in a file: calendars have no place for it. */
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
  /** RRULE and EXDATE lines. */
  recurrence: { rrule: string[]; timezone: string } | null;
  conferencing: IcalConferencing | null;
  reminders: { reminder_minutes: string; reminder_method: string } | null;
}

/** The names of the fields. */
export const ICAL_FIELDS = [
  'title', 'description', 'location', 'when', 'busy', 'status', 'visibility', 'participants', 'recurrence',
  'conferencing', 'reminders',
] as const satisfies readonly (keyof IcalFields)[]; // prettier-ignore

/** Answers of participants as files have them (RFC 5545 3.2.12). */
export const PARTSTAT = {
  yes: 'ACCEPTED',
  no: 'DECLINED',
  maybe: 'TENTATIVE',
  noreply: 'NEEDS-ACTION',
} as const satisfies Record<IcalAnswer, string>;

/** Where we keep details of a conference that no standard property has. */
export const CONFERENCING_PROPERTY = 'x-carillon-conferencing';

/**
 * An address as it is written as a value of the type URI, which knows no escaping: a line break would begin another property,
 * and servers take commas and semicolons for separators, and what follows them away.
 */
export function uriValue(url: string): string {
  return url
    .replaceAll(/\p{Cc}+/gu, '')
    .replaceAll(',', '%2C')
    .replaceAll(';', '%3B');
}

/** The e-mail address an ATTENDEE or ORGANIZER stands for; undefined: none. */
export function emailOf(value: unknown, emailParameter: string | undefined): string | undefined {
  const text = typeof value === 'string' ? value : '';
  const mailto = /^mailto:(.+)$/i.exec(text.trim())?.[1];
  const email = withoutControls(mailto ?? emailParameter ?? '')
    .trim()
    .toLowerCase();
  return /^[^\s@]+@[^\s@]+$/.test(email) ? email : undefined;
}

/** An event that no file can hold. `message` names the field and may be shown to the caller. */
export class UnwritableEventError extends Error {
  override name = 'UnwritableEventError';
}

/**
 * What a file holds of an event that is given by the wire's names; absent fields are those of an event nothing was said about.
 * @throws {UnwritableEventError} when it has no time
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

/** The keys decide the form. @throws {UnwritableEventError} when there is none */
function whenOf(value: unknown): IcalFields['when'] {
  const form = FORMS.find(([key]) => typeof value === 'object' && value !== null && key in value);
  if (!form) throw new UnwritableEventError('when: an event needs a time');
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
