import { z } from 'zod';
import type {
  IcalAnswer,
  IcalConferencing,
  IcalFields,
  IcalParticipant,
  IcalWhen,
} from '../../../formats/ical/ical-fields.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { MeetingDetails } from '../../port/conferencing-port.ts';
import type { EventContent, EventWriteOptions } from '../../port/connector.ts';
import {
  exclusionsOf,
  graphRecurrence,
  ruleOf,
  type SeriesStart,
  seriesStart,
  writeRecurrence,
} from './graph-recurrence.ts';
import { DAY_MS, dateText, dayOf, graphTime, graphTimeOf, msOf, zoneOf } from './graph-time.ts';

/* Events of Microsoft Graph, and the fields of the API that they stand for. */

const text = z.string().nullish();
const flag = z.boolean().nullish();
const address = z.object({ name: text, address: text }).nullish();

const attendee = z.looseObject({
  type: text,
  emailAddress: address,
  status: z.object({ response: text }).nullish(),
});
export type GraphAttendee = z.infer<typeof attendee>;

/** The properties of an event that Carillon reads. */
export const graphEvent = z.object({
  id: z.string(),
  '@odata.etag': text,
  type: text,
  iCalUId: text,
  transactionId: text,
  subject: text,
  body: z.object({ contentType: text, content: text }).nullish(),
  location: z.object({ displayName: text }).nullish(),
  start: graphTime.nullish(),
  end: graphTime.nullish(),
  originalStartTimeZone: text,
  originalEndTimeZone: text,
  originalStart: text,
  isAllDay: flag,
  isCancelled: flag,
  isOrganizer: flag,
  isReminderOn: flag,
  reminderMinutesBeforeStart: z.number().nullish(),
  showAs: text,
  sensitivity: text,
  seriesMasterId: text,
  recurrence: graphRecurrence.nullish().catch(null),
  attendees: z.array(attendee).nullish(),
  organizer: z.object({ emailAddress: address }).nullish(),
  responseStatus: z.object({ response: text }).nullish(),
  hideAttendees: flag,
  isOnlineMeeting: flag,
  onlineMeetingProvider: text,
  onlineMeeting: z
    .object({
      joinUrl: text,
      conferenceId: text,
      tollNumber: text,
      phones: z.array(z.object({ number: text })).nullish(),
    })
    .nullish(),
  createdDateTime: text,
  lastModifiedDateTime: text,
});
export type GraphEvent = z.infer<typeof graphEvent>;

/** `$select` of these properties. */
export const EVENT_FIELDS = Object.keys(graphEvent.shape)
  .filter((name) => !name.startsWith('@'))
  .join(',');

/** The fields that Graph stores. Meetings of other services than Teams are not among them. */
export type GraphFields = Pick<
  IcalFields,
  | 'title'
  | 'description'
  | 'location'
  | 'when'
  | 'busy'
  | 'visibility'
  | 'participants'
  | 'recurrence'
  | 'reminders'
>;

/** The name of Teams at Graph. */
export const TEAMS_PROVIDER = 'teamsForBusiness';
/** The name of Teams in the API. */
export const TEAMS = 'Microsoft Teams';
/** Exchange sets this reminder for events without one: it stands for the default. */
const DEFAULT_MINUTES = 15;

const emailOf = (value: string | null | undefined): string => (value ?? '').trim().toLowerCase();

/** Text as Exchange gives it back: lines end with a line feed, none are empty at the end. */
export const plain = (value: string): string => value.replaceAll(/\r\n?/g, '\n').trimEnd();

function readWhen(event: GraphEvent): IcalWhen | null {
  const { start, end } = event;
  if (!start) return null;
  if (event.isAllDay) {
    const first = dayOf(msOf(start), event.originalStartTimeZone);
    const last = (end ? dayOf(msOf(end), event.originalEndTimeZone) : first) - DAY_MS;
    return last > first
      ? { object: 'datespan', start_date: dateText(first), end_date: dateText(last) }
      : { object: 'date', date: dateText(first) };
  }
  const from = msOf(start) / 1000;
  const to = end ? msOf(end) / 1000 : from;
  const zone = zoneOf(event.recurrence?.range.recurrenceTimeZone || event.originalStartTimeZone);
  if (to <= from) return { object: 'time', time: from, timezone: zone };
  return {
    object: 'timespan',
    start_time: from,
    end_time: to,
    start_timezone: zone,
    end_timezone: event.originalEndTimeZone ? zoneOf(event.originalEndTimeZone) : zone,
  };
}

const ANSWERS: Readonly<Record<string, IcalAnswer>> = {
  accepted: 'yes',
  organizer: 'yes',
  declined: 'no',
  tentativelyaccepted: 'maybe',
};

function readParticipants({ attendees }: GraphEvent): IcalParticipant[] {
  const found = new Map<string, IcalParticipant>();
  for (const { emailAddress, status } of attendees ?? []) {
    const email = emailOf(emailAddress?.address);
    if (!email || found.has(email)) continue;
    const name = emailAddress?.name ?? '';
    found.set(email, {
      email,
      // Exchange shows the address as the name of people that it does not know.
      name: emailOf(name) === email ? '' : name,
      status: ANSWERS[(status?.response ?? '').toLowerCase()] ?? 'noreply',
      comment: null,
      phone_number: null,
    });
  }
  return [...found.values()];
}

function readReminders(event: GraphEvent): IcalFields['reminders'] {
  const minutes = event.reminderMinutesBeforeStart;
  const isDefault = minutes === DEFAULT_MINUTES || minutes === null || minutes === undefined;
  if (!event.isReminderOn || isDefault) return null;
  return { reminder_minutes: `[${minutes}]`, reminder_method: 'popup' };
}

/** How to take part in the meeting of an event; `null` if it has none, or none yet. */
export function meetingDetails({ onlineMeeting }: GraphEvent): MeetingDetails | null {
  const url = onlineMeeting?.joinUrl;
  if (!url) return null;
  const numbers = [
    onlineMeeting.tollNumber,
    ...(onlineMeeting.phones ?? []).map((one) => one.number),
  ];
  const phone = [...new Set(numbers.filter((one) => typeof one === 'string' && one !== ''))];
  return {
    url,
    ...(onlineMeeting.conferenceId ? { meeting_code: onlineMeeting.conferenceId } : {}),
    ...(phone.length > 0 ? { phone: phone as string[] } : {}),
  };
}

/** The begin of a series; `null` for an event that does not repeat. */
export function startOfSeries(event: GraphEvent): SeriesStart | null {
  const when = event.recurrence ? readWhen(event) : null;
  const zone = event.recurrence?.range.recurrenceTimeZone || event.originalStartTimeZone;
  return when && seriesStart(when, zoneOf(zone));
}

/**
 * The fields of an event.
 * @param excluded starts of a series that were deleted, in Unix milliseconds
 * @returns `null` if the event has no time
 */
export function readEvent(event: GraphEvent, excluded: readonly number[] = []): GraphFields | null {
  const when = readWhen(event);
  if (!when) return null;
  const start = startOfSeries(event);
  const rrule =
    start && event.recurrence
      ? [ruleOf(event.recurrence, start), ...exclusionsOf(excluded, start)]
      : null;
  return {
    title: event.subject ?? '',
    description: withoutMeetingText(event),
    location: event.location?.displayName ?? '',
    when,
    busy: event.showAs !== 'free' && event.showAs !== 'workingElsewhere',
    visibility: (event.sensitivity ?? 'normal') === 'normal' ? null : 'private',
    participants: readParticipants(event),
    recurrence: start && rrule ? { rrule, timezone: start.zone } : null,
    reminders: readReminders(event),
  };
}

/** The content of an event for the mirror. */
export function contentOf(event: GraphEvent, fields: GraphFields): EventContent {
  const details = meetingDetails(event);
  const isTeams = /^(teamsForBusiness|unknown|null|undefined)$/.test(
    `${event.onlineMeetingProvider}`,
  );
  return {
    ...fields,
    ...(event.isCancelled ? { status: 'cancelled' } : {}),
    ...(details && isTeams ? { conferencing: { provider: TEAMS, details } } : {}),
  };
}

/** Exchange writes how to join a meeting below the description, after a line of underscores. */
const MEETING_LINE = /\n*_{20,}\n/;
const MEETING_HTML = /<div[^>]*class="?me-email-text|_{20,}/i;

function withoutMeetingText({ body, onlineMeeting }: GraphEvent): string {
  const content = plain(body?.content ?? '');
  const at = onlineMeeting?.joinUrl ? content.search(MEETING_LINE) : -1;
  return at < 0 ? content : content.slice(0, at);
}

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const asHtml = (value: string): string =>
  value.replaceAll(/[&<>]/g, (one) => HTML[one] ?? one).replaceAll('\n', '<br>');

/**
 * The body of an event with a meeting: without Exchange's text about the meeting, the meeting would
 * be lost.
 * @param html the body as it is
 */
export function bodyWithMeeting(
  description: string,
  html: string,
): { contentType: string; content: string } {
  const at = html.search(MEETING_HTML);
  const kept = at < 0 ? '' : html.slice(at);
  return { contentType: 'html', content: `<div>${asHtml(description)}</div><br>${kept}` };
}

function writeDates(first: string, last: string) {
  const at = (day: string, more = 0) => ({
    dateTime: `${dateText(Date.parse(day) + more)}T00:00:00`,
    timeZone: 'UTC',
  });
  return { isAllDay: true, start: at(first), end: at(last, DAY_MS) };
}

function writeWhen(when: IcalWhen, seriesZone: string | undefined): Record<string, unknown> {
  switch (when.object) {
    case 'time': {
      const at = graphTimeOf(when.time, seriesZone ?? when.timezone ?? 'UTC');
      return { isAllDay: false, start: at, end: at };
    }
    case 'timespan': {
      const zone = seriesZone ?? when.start_timezone ?? 'UTC';
      return {
        isAllDay: false,
        start: graphTimeOf(when.start_time, zone),
        end: graphTimeOf(when.end_time, seriesZone ?? when.end_timezone ?? zone),
      };
    }
    case 'date':
      return writeDates(when.date, when.date);
    case 'datespan':
      return writeDates(when.start_date, when.end_date);
  }
}

function writeReminders(reminders: IcalFields['reminders']): Record<string, unknown> {
  const minutes = [...(reminders?.reminder_minutes ?? '').matchAll(/-?\d+/g)].map(Number);
  const [first = DEFAULT_MINUTES] = minutes.filter((one) => one >= 0);
  return { isReminderOn: true, reminderMinutesBeforeStart: first };
}

/** @param present the attendees at Graph: their kinds and properties that the API lacks are kept */
function writeParticipants(
  participants: readonly IcalParticipant[],
  present: readonly GraphAttendee[],
) {
  const before = new Map(present.map((one) => [emailOf(one.emailAddress?.address), one]));
  return participants.map(({ email, name }) => {
    const { type, emailAddress } = before.get(email) ?? {};
    const shown = name || emailAddress?.name;
    return {
      type: type ?? 'required',
      emailAddress: { address: emailAddress?.address ?? email, ...(shown ? { name: shown } : {}) },
    };
  });
}

/**
 * The properties of Graph's event for some fields. Other properties are left out, so that a PATCH
 * keeps them.
 * @param present the attendees of the event at Graph; empty for a new event
 * @throws {ProviderError} `rejected` if Graph cannot express the recurrence
 */
export function writeEvent(
  fields: Partial<GraphFields>,
  present: readonly GraphAttendee[] = [],
): Record<string, unknown> {
  const { when, recurrence, visibility } = fields;
  return {
    ...(fields.title === undefined ? {} : { subject: fields.title }),
    ...(fields.description === undefined
      ? {}
      : { body: { contentType: 'text', content: fields.description } }),
    ...(fields.location === undefined ? {} : { location: { displayName: fields.location } }),
    ...(when ? writeWhen(when, recurrence?.timezone) : {}),
    ...(fields.busy === undefined ? {} : { showAs: fields.busy ? 'busy' : 'free' }),
    ...(visibility === undefined
      ? {}
      : { sensitivity: visibility === 'private' ? 'private' : 'normal' }),
    ...(fields.participants ? { attendees: writeParticipants(fields.participants, present) } : {}),
    ...(recurrence === undefined ? {} : { recurrence: patterned(recurrence, when) }),
    ...(fields.reminders === undefined ? {} : writeReminders(fields.reminders)),
  };
}

function patterned(recurrence: IcalFields['recurrence'], when: IcalWhen | undefined) {
  if (!recurrence) return null;
  if (!when) throw new ProviderError('rejected', 'recurrence: needs the time of the event');
  return writeRecurrence(recurrence, seriesStart(when, recurrence.timezone));
}

/** Further properties of a write: the meeting to create, and whether guests see each other. */
export function extrasOf(
  { hide_participants: hide }: EventContent,
  { meeting }: EventWriteOptions,
): Record<string, unknown> {
  return {
    ...(typeof hide === 'boolean' ? { hideAttendees: hide } : {}),
    ...(meeting ? { isOnlineMeeting: true, onlineMeetingProvider: TEAMS_PROVIDER } : {}),
  };
}

/**
 * The location to write. If a meeting of another service has no location, the location is the
 * meeting's address: Exchange mails the participants, and they see no other field of ours.
 */
export function locationOf(location: string, conferencing: IcalConferencing | null): string {
  const isOther = conferencing !== null && conferencing.provider !== TEAMS;
  return location || (isOther ? (conferencing.details.url ?? '') : '');
}
