import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  type IcalAnswer,
  type IcalConferencing,
  type IcalFields,
  type IcalParticipant,
  type IcalStatus,
  type IcalWhen,
} from '../../../formats/ical/ical-fields.ts';
import { CONFERENCING_PROVIDERS, type MeetingDetails } from '../../port/conferencing-port.ts';

/* Events of Google Calendar, and the fields of the API that they stand for. */

export const DAY_MS = 86_400_000;

const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text));
const moment = z.object({
  date: z
    .string()
    .regex(/^\d{4}-\d\d-\d\d$/)
    .refine(isTime)
    .optional(),
  dateTime: z.string().refine(isTime).optional(),
  timeZone: z.string().optional(),
});
export type Moment = z.infer<typeof moment>;

const person = z.object({
  email: z.string().optional(),
  displayName: z.string().optional(),
  self: z.boolean().optional(),
});

const attendee = person.extend({
  responseStatus: z.string().optional(),
  comment: z.string().optional(),
});
export type GoogleAttendee = z.infer<typeof attendee> & Record<string, unknown>;

const entryPoint = z.object({
  entryPointType: z.string().optional(),
  uri: z.string().optional(),
  label: z.string().optional(),
  pin: z.string().optional(),
  passcode: z.string().optional(),
  password: z.string().optional(),
  meetingCode: z.string().optional(),
});

const conferenceData = z.object({
  conferenceId: z.string().optional(),
  conferenceSolution: z
    .object({
      key: z.object({ type: z.string().optional() }).optional(),
      name: z.string().optional(),
    })
    .optional(),
  entryPoints: z.array(entryPoint).optional(),
  createRequest: z
    .object({ status: z.object({ statusCode: z.string().optional() }).optional() })
    .optional(),
});

/** The properties of an event that Carillon reads. */
export const googleEvent = z.object({
  id: z.string(),
  etag: z.string().optional(),
  status: z.string().optional(),
  eventType: z.string().optional(),
  iCalUID: z.string().optional(),
  sequence: z.number().optional(),
  summary: z.string().optional(),
  description: z.string().optional(),
  location: z.string().optional(),
  start: moment.optional(),
  end: moment.optional(),
  transparency: z.string().optional(),
  visibility: z.string().optional(),
  recurrence: z.array(z.string()).optional(),
  recurringEventId: z.string().optional(),
  originalStartTime: moment.optional(),
  organizer: person.optional(),
  // Unknown properties of guests are kept: a change of the list has to send them back.
  attendees: z.array(z.looseObject(attendee.shape)).optional(),
  reminders: z
    .object({
      useDefault: z.boolean().optional(),
      overrides: z
        .array(z.object({ method: z.string().optional(), minutes: z.number().optional() }))
        .optional(),
    })
    .optional(),
  conferenceData: conferenceData.optional(),
  hangoutLink: z.string().optional(),
  guestsCanSeeOtherGuests: z.boolean().optional(),
  attendeesOmitted: z.boolean().optional(),
  extendedProperties: z.object({ private: z.record(z.string(), z.string()).optional() }).optional(),
});
export type GoogleEvent = z.infer<typeof googleEvent>;

/** Types of events that Google's API does not let anybody change. */
const FIXED_TYPES: Readonly<Record<string, string>> = {
  birthday: 'a birthday of a contact',
  fromGmail: 'made from a mail',
  workingLocation: 'a working location',
};

/** What kind of event Google protects from changes, in words; `null` for an ordinary one. */
export const fixedType = ({ eventType = 'default' }: Pick<GoogleEvent, 'eventType'>) =>
  Object.hasOwn(FIXED_TYPES, eventType) ? (FIXED_TYPES[eventType] ?? null) : null;

/** Whether Google accepts private properties: only ordinary events may have them. */
export const mayBeMarked = ({ eventType = 'default' }: Pick<GoogleEvent, 'eventType'>): boolean =>
  eventType === 'default';

/**
 * The private property of an instance that was reset: the digest of the content that its series
 * defined. Google keeps every instance that was once changed.
 */
export const RESET_PROPERTY = 'carillonReset';

/**
 * The private property of an event whose conference Google has refused to store: `kept`, and `none`
 * after the conference was removed.
 */
export const CONFERENCE_PROPERTY = 'carillonConference';

/** Whether Google has refused to store the conference of an event. */
export function hasUnstoredConference({ extendedProperties }: GoogleEvent): boolean {
  return extendedProperties?.private?.[CONFERENCE_PROPERTY] === 'kept';
}

/** YYYY-MM-DD of a time in milliseconds. */
export const dateText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const secondsOf = ({ dateTime = '' }: Moment): number => Math.floor(Date.parse(dateTime) / 1000);
/** An address as it is compared. */
export const emailOf = (text: string | undefined): string => (text ?? '').trim().toLowerCase();

/** The time of an event in Unix seconds; an all-day event begins at midnight UTC. */
export function startOf(at: Moment): number {
  return at.date === undefined ? secondsOf(at) : Date.parse(at.date) / 1000;
}

function readWhen({ start, end }: GoogleEvent): IcalWhen | null {
  if (!start) return null;
  if (start.date !== undefined) {
    const last = Date.parse(end?.date ?? start.date) - DAY_MS;
    const lastDate = dateText(Math.max(last, Date.parse(start.date)));
    return lastDate === start.date
      ? { object: 'date', date: start.date }
      : { object: 'datespan', start_date: start.date, end_date: lastDate };
  }
  const from = secondsOf(start);
  const to = end ? secondsOf(end) : from;
  const zone = start.timeZone;
  if (!(to > from)) return { object: 'time', time: from, ...(zone ? { timezone: zone } : {}) };
  const endZone = end?.timeZone ?? zone;
  return {
    object: 'timespan',
    start_time: from,
    end_time: to,
    ...(zone ? { start_timezone: zone } : {}),
    ...(endZone ? { end_timezone: endZone } : {}),
  };
}

const ANSWERS: Readonly<Record<string, IcalAnswer>> = {
  accepted: 'yes',
  declined: 'no',
  tentative: 'maybe',
};
function readParticipants({ attendees = [] }: GoogleEvent): IcalParticipant[] {
  const found = new Map<string, IcalParticipant>();
  for (const one of attendees) {
    const email = emailOf(one.email);
    if (!email || found.has(email)) continue;
    found.set(email, {
      email,
      name: one.displayName ?? '',
      status: ANSWERS[one.responseStatus ?? ''] ?? 'noreply',
      comment: one.comment || null,
      phone_number: null,
    });
  }
  return [...found.values()];
}

function readReminders({ reminders }: GoogleEvent): IcalFields['reminders'] {
  const overrides = (reminders?.overrides ?? []).flatMap(({ method = 'popup', minutes }) =>
    minutes === undefined ? [] : [{ method, minutes }],
  );
  const [first] = overrides;
  if (reminders?.useDefault === true || !first) return null;
  return {
    reminder_minutes: `[${overrides.map(({ minutes }) => minutes).join(',')}]`,
    reminder_method: first.method,
  };
}

/** The meetings that Google creates. */
export const MEET = 'Google Meet';

/** The name in the API of a conference; `undefined` for a service that the API does not name. */
function providerOf(data: NonNullable<GoogleEvent['conferenceData']>): string | undefined {
  const { key, name } = data.conferenceSolution ?? {};
  if (key?.type?.startsWith('hangouts') || key?.type?.startsWith('eventHangout')) return MEET;
  return CONFERENCING_PROVIDERS.find((one) => one === name);
}

/** How to take part in a conference; `null` if it has no address yet. */
export function meetingDetails({
  conferenceData,
  hangoutLink,
}: GoogleEvent): MeetingDetails | null {
  const points = conferenceData?.entryPoints ?? [];
  const video = points.find(({ entryPointType }) => entryPointType === 'video');
  const url = video?.uri ?? hangoutLink;
  if (!url) return null;
  const phones = points.filter(({ entryPointType }) => entryPointType === 'phone');
  const phone = phones.flatMap(({ uri, label }) => label ?? uri?.replace(/^tel:/, '') ?? []);
  const pin = phones.find((one) => one.pin)?.pin ?? video?.pin;
  const password = video?.password ?? video?.passcode;
  const code = video?.meetingCode ?? conferenceData?.conferenceId;
  return {
    url,
    ...(code ? { meeting_code: code } : {}),
    ...(password ? { password } : {}),
    ...(pin ? { pin } : {}),
    ...(phone.length > 0 ? { phone } : {}),
  };
}

function readConferencing(event: GoogleEvent): IcalConferencing | null | undefined {
  const { conferenceData } = event;
  const details = meetingDetails(event);
  if (details) {
    const provider = conferenceData ? providerOf(conferenceData) : MEET;
    return provider ? { provider, details } : undefined;
  }
  return conferenceData?.createRequest || hasUnstoredConference(event) ? undefined : null;
}

/** Whether a line of `recurrence` is one that the API has: `RDATE` and `EXRULE` are not. */
export const isRule = (line: string): boolean => /^(RRULE|EXDATE)[;:]/i.test(line);

/** The fields of an event; without `conferencing` if the API cannot express the conference. */
export type StoredFields = Omit<IcalFields, 'conferencing'> &
  Partial<Pick<IcalFields, 'conferencing'>>;

/**
 * The fields of an event.
 * @returns `null` if the event has no time, as cancelled ones
 */
export function readEvent(event: GoogleEvent): StoredFields | null {
  const when = readWhen(event);
  if (!when) return null;
  const rules = (event.recurrence ?? []).filter(isRule);
  const conferencing = readConferencing(event);
  const isSeries = rules.some((line) => /^RRULE/i.test(line));
  return {
    title: event.summary ?? '',
    description: event.description ?? '',
    location: event.location ?? '',
    when,
    busy: event.transparency !== 'transparent',
    status: (event.status ?? 'confirmed') as IcalStatus,
    visibility: VISIBILITIES[event.visibility ?? ''] ?? null,
    participants: readParticipants(event),
    recurrence: isSeries ? { rrule: rules, timezone: event.start?.timeZone ?? 'UTC' } : null,
    ...(conferencing === undefined ? {} : { conferencing }),
    reminders: readReminders(event),
  };
}

/** Identifies the content of an event. */
export function digestOf(event: GoogleEvent): string {
  return createHash('sha256')
    .update(JSON.stringify(readEvent(event)))
    .digest('base64url');
}

/** Whether the event is an instance that was reset and has not changed since. */
export function isAsDefined(event: GoogleEvent): boolean {
  const mark = event.extendedProperties?.private?.[RESET_PROPERTY];
  return mark !== undefined && event.status !== 'cancelled' && mark === digestOf(event);
}

const VISIBILITIES: Readonly<Record<string, IcalFields['visibility']>> = {
  public: 'public',
  private: 'private',
  confidential: 'private',
};
