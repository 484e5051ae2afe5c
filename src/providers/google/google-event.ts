import { z } from 'zod';
import {
  type IcalAnswer, type IcalConferencing, type IcalFields, type IcalParticipant, type IcalStatus, type IcalWhen,
} from '../../formats/ical/ical-fields.ts'; // prettier-ignore
import { CONFERENCING_PROVIDERS, type MeetingDetails } from '../port/conferencing-port.ts';

/* Events of Google Calendar, and the fields of the API that they stand for. */

const DAY_MS = 86_400_000;

const moment = z.object({
  date: z.string().optional(),
  dateTime: z.string().optional(),
  timeZone: z.string().optional(),
});
type Moment = z.infer<typeof moment>;

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
  extendedProperties: z.object({ private: z.record(z.string(), z.string()).optional() }).optional(),
});
export type GoogleEvent = z.infer<typeof googleEvent>;

/** The private property that holds the key of an event that Carillon created. */
export const KEY_PROPERTY = 'carillonKey';

const dateText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const secondsOf = ({ dateTime = '' }: Moment): number => Math.floor(Date.parse(dateTime) / 1000);
const emailOf = (text: string | undefined): string => (text ?? '').trim().toLowerCase();

/** The time of an event in Unix seconds; an all-day event begins at midnight UTC. */
export function startOf(at: Moment): number {
  return at.date === undefined ? secondsOf(at) : Date.parse(at.date) / 1000;
}

function readWhen({ start, end }: GoogleEvent, zone: string): IcalWhen | null {
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
  const timezone = start.timeZone ?? zone;
  if (!(to > from)) return { object: 'time', time: from, timezone };
  return {
    object: 'timespan',
    start_time: from,
    end_time: to,
    start_timezone: timezone,
    end_timezone: end?.timeZone ?? timezone,
  };
}

const ANSWERS: Readonly<Record<string, IcalAnswer>> = {
  accepted: 'yes',
  declined: 'no',
  tentative: 'maybe',
};
const RESPONSES: Readonly<Record<IcalAnswer, string>> = {
  yes: 'accepted',
  no: 'declined',
  maybe: 'tentative',
  noreply: 'needsAction',
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

const MEET = 'Google Meet';

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
  if (!details) return conferenceData?.createRequest ? undefined : null;
  const provider = conferenceData ? providerOf(conferenceData) : MEET;
  return provider ? { provider, details } : undefined;
}

const isRule = (line: string): boolean => /^(RRULE|EXDATE)[;:]/i.test(line);

/**
 * The fields of an event. `conferencing` is absent if the API cannot express the conference.
 * @param zone of the calendar, for times that name no zone of their own
 * @returns `null` if the event has no time, as cancelled ones
 */
export function readEvent(
  event: GoogleEvent,
  zone: string,
): (Omit<IcalFields, 'conferencing'> & Partial<Pick<IcalFields, 'conferencing'>>) | null {
  const when = readWhen(event, zone);
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
    recurrence: isSeries
      ? { rrule: rules, timezone: event.start?.timeZone ?? (event.start?.date ? 'UTC' : zone) }
      : null,
    ...(conferencing === undefined ? {} : { conferencing }),
    reminders: readReminders(event),
  };
}

const VISIBILITIES: Readonly<Record<string, IcalFields['visibility']>> = {
  public: 'public',
  private: 'private',
  confidential: 'private',
};

function writeMoment(seconds: number, zone: string): Moment {
  return { dateTime: new Date(seconds * 1000).toISOString().replace('.000Z', 'Z'), timeZone: zone };
}

function writeWhen(when: IcalWhen, seriesZone: string | undefined): { start: Moment; end: Moment } {
  switch (when.object) {
    case 'time': {
      const at = writeMoment(when.time, seriesZone ?? when.timezone ?? 'UTC');
      return { start: at, end: at };
    }
    case 'timespan': {
      const from = seriesZone ?? when.start_timezone ?? 'UTC';
      return {
        start: writeMoment(when.start_time, from),
        end: writeMoment(when.end_time, seriesZone ?? when.end_timezone ?? from),
      };
    }
    case 'date':
      return writeDates(when.date, when.date);
    case 'datespan':
      return writeDates(when.start_date, when.end_date);
  }
}

function writeDates(first: string, last: string): { start: Moment; end: Moment } {
  return { start: { date: first }, end: { date: dateText(Date.parse(last) + DAY_MS) } };
}

/** Methods of reminders that Google has; the others are shown as a popup. */
const REMINDER_METHODS = ['email', 'popup'];
const MOST_REMINDERS = 5;
/** Four weeks, the longest time before an event that Google accepts. */
const MOST_MINUTES = 40_320;

function writeReminders(reminders: IcalFields['reminders']) {
  const minutes = [...(reminders?.reminder_minutes ?? '').matchAll(/\d+/g)]
    .map(([digits]) => Math.min(Number(digits), MOST_MINUTES))
    .slice(0, MOST_REMINDERS);
  if (!reminders || minutes.length === 0 || reminders.reminder_minutes.includes('-'))
    return { useDefault: true };
  const method = REMINDER_METHODS.includes(reminders.reminder_method)
    ? reminders.reminder_method
    : 'popup';
  return { useDefault: false, overrides: minutes.map((one) => ({ method, minutes: one })) };
}

/** @param present the guests of the event at Google: properties that the API lacks are kept */
function writeParticipants(
  participants: readonly IcalParticipant[],
  present: readonly GoogleAttendee[],
) {
  const before = new Map(present.map((one) => [emailOf(one.email), one]));
  return participants.map(({ email, name, status }) => ({
    ...before.get(email),
    email,
    ...(name ? { displayName: name } : {}),
    responseStatus: RESPONSES[status],
  }));
}

/** A conference of another service than Google's, as Google shows those of add-ons. */
function writeConferencing(conferencing: IcalConferencing | null) {
  if (!conferencing || conferencing.provider === MEET) return null;
  const { url, meeting_code, password, pin } = conferencing.details;
  if (!url) return null;
  const entry = {
    entryPointType: 'video',
    uri: url,
    ...(meeting_code ? { meetingCode: meeting_code } : {}),
    ...(password ? { password } : {}),
    ...(pin ? { pin } : {}),
  };
  return {
    conferenceSolution: { key: { type: 'addOn' }, name: conferencing.provider },
    entryPoints: [entry],
  };
}

/**
 * The properties of Google's event for some fields. Other properties are left out, so that a PATCH
 * keeps them.
 * @param present the guests of the event at Google; empty for a new event
 */
export function writeEvent(
  fields: Partial<IcalFields>,
  present: readonly GoogleAttendee[] = [],
): Record<string, unknown> {
  const { when, recurrence, status, visibility, conferencing } = fields;
  return {
    ...(fields.title === undefined ? {} : { summary: fields.title }),
    ...(fields.description === undefined ? {} : { description: fields.description }),
    ...(fields.location === undefined ? {} : { location: fields.location }),
    ...(when ? writeWhen(when, recurrence?.timezone) : {}),
    ...(fields.busy === undefined ? {} : { transparency: fields.busy ? 'opaque' : 'transparent' }),
    ...(status === undefined ? {} : { status }),
    ...(visibility === undefined ? {} : { visibility: visibility ?? 'default' }),
    ...(fields.participants ? { attendees: writeParticipants(fields.participants, present) } : {}),
    ...(recurrence === undefined ? {} : { recurrence: recurrence?.rrule ?? [] }),
    // A meeting of Google's own is made by a request (`createRequest`) and stays as it is.
    ...(conferencing === undefined || conferencing?.provider === MEET
      ? {}
      : { conferenceData: writeConferencing(conferencing) }),
    ...(fields.reminders === undefined ? {} : { reminders: writeReminders(fields.reminders) }),
  };
}
