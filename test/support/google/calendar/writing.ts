import { randomBytes } from 'node:crypto';
import type { GoogleCall } from '../call.ts';
import { GoogleError, invalid } from '../errors.ts';
import type { Attendee, EventTime, GoogleEvent } from './google-event.ts';
import type { StubCalendar } from './stub-calendar.ts';

/** Fields that a client cannot write. */
const READ_ONLY = new Set(
  'kind etag htmlLink created updated creator hangoutLink recurringEventId originalStartTime'.split(
    ' ',
  ),
);

/** Fields of a request that are written, without those that only Google sets. */
export function writable(body: Record<string, unknown>): Record<string, unknown> {
  const { organizer: _organizer, id: _id, iCalUID: _uid, ...rest } = body;
  return Object.fromEntries(Object.entries(rest).filter(([name]) => !READ_ONLY.has(name)));
}

/** A new event of a calendar, checked. */
export function newEvent(
  { user, world, body, query }: GoogleCall,
  calendar: StubCalendar,
  iCalUID?: string,
): GoogleEvent {
  const id = typeof body['id'] === 'string' ? body['id'] : randomBytes(13).toString('hex');
  if (!/^[a-v0-9]{5,1024}$/.test(id)) throw invalid('Invalid resource id value.', 'invalid');
  if (calendar.events.has(id))
    throw new GoogleError(409, 'duplicate', 'The requested identifier already exists.');
  const isPrimary = calendar.id === user.email;
  const organizer = isPrimary
    ? { email: user.email }
    : { email: calendar.id, displayName: calendar.settings.summary };
  const now = new Date(world.now()).toISOString();
  const event = {
    status: 'confirmed' as const,
    sequence: 0,
    ...writable(body),
    id,
    iCalUID: iCalUID ?? `${id}@google.com`,
    created: now,
    updated: now,
    creator: { email: user.email },
    organizer,
  } as GoogleEvent;
  return completed(event, null, calendar, query);
}

/** Merges a patch into an event: objects field by field, lists whole, null removes. */
export function patched(event: GoogleEvent, body: Record<string, unknown>): GoogleEvent {
  return merged(event, writable(body)) as GoogleEvent;
}

function merged(before: Record<string, unknown>, change: Record<string, unknown>): object {
  const result = { ...before };
  for (const [name, value] of Object.entries(change)) {
    const old = result[name];
    if (value === null) delete result[name];
    else if (isObject(value) && isObject(old)) result[name] = merged(old, value);
    else result[name] = isObject(value) ? merged({}, value) : value;
  }
  return result;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Checks an event and adds what Google adds: guests' answers, conference, sequence. */
export function completed(
  event: GoogleEvent,
  before: GoogleEvent | null,
  calendar: StubCalendar,
  query: URLSearchParams,
): GoogleEvent {
  checkTimes(event, calendar);
  const result = { ...event };
  if (result.attendees) result.attendees = checkedAttendees(result.attendees, before);
  if (result.attendees?.length === 0) delete result.attendees;
  if (query.get('conferenceDataVersion') === '1') addConference(result);
  else restoreConference(result, before);
  if (before && hasMoved(before, result))
    result.sequence = Math.max(result.sequence, before.sequence + 1);
  return result;
}

function hasMoved(before: GoogleEvent, after: GoogleEvent): boolean {
  const text = ({ start, end, recurrence }: GoogleEvent) =>
    JSON.stringify([start, end, recurrence]);
  return text(before) !== text(after);
}

function checkTimes(event: GoogleEvent, calendar: StubCalendar): void {
  for (const name of ['start', 'end'] as const) {
    const time: EventTime | undefined = event[name];
    if (!time?.date && !time?.dateTime) throw invalid(`Missing ${name} time.`, 'required');
    if (time.date && time.dateTime) throw invalid(`Invalid ${name} time.`, 'invalid');
    const hasOffset = /(Z|[+-]\d\d:\d\d)$/.test(time.dateTime ?? 'Z');
    if (!hasOffset && !time.timeZone)
      throw invalid(`Missing time zone definition for ${name} time.`, 'required');
    if (event.recurrence?.length && time.dateTime && !time.timeZone)
      throw invalid(`Missing time zone definition for ${name} time.`, 'required');
  }
  if (Boolean(event.start?.date) !== Boolean(event.end?.date))
    throw invalid('Start and end times must either both be date or both be dateTime.', 'invalid');
  const [start, end] = calendar.rangeOf(event);
  if (end < start || (event.start?.date && end === start))
    throw invalid('The specified time range is empty.', 'timeRangeEmpty');
  for (const line of event.recurrence ?? [])
    if (!/^(RRULE|EXRULE|RDATE|EXDATE)[:;]/.test(line))
      throw invalid('Invalid recurrence rule.', 'invalid');
}

/** A guest keeps the answer that was given before, unless the request says another. */
function checkedAttendees(attendees: Attendee[], before: GoogleEvent | null): Attendee[] {
  return attendees.map((one) => {
    const email = one.email.toLowerCase();
    if (!/^[^@\s]+@[^@\s]+$/.test(email)) throw invalid('Invalid attendee email.', 'invalid');
    const old = before?.attendees?.find((other) => other.email === email);
    const { self: _self, organizer: _organizer, ...rest } = one as Attendee & { self?: boolean };
    return { responseStatus: old?.responseStatus ?? 'needsAction', ...rest, email };
  });
}

function addConference(event: GoogleEvent): void {
  const request = event.conferenceData?.['createRequest'] as Record<string, unknown> | undefined;
  if (!event.conferenceData) delete event.hangoutLink;
  if (!request || event.conferenceData?.['conferenceId']) return;
  const letters = [...randomBytes(10)]
    .map((byte) => String.fromCharCode(97 + (byte % 26)))
    .join('');
  const conferenceId = `${letters.slice(0, 3)}-${letters.slice(3, 7)}-${letters.slice(7)}`;
  event.hangoutLink = `https://meet.google.com/${conferenceId}`;
  event.conferenceData = {
    createRequest: { ...request, status: { statusCode: 'success' } },
    entryPoints: [
      { entryPointType: 'video', uri: event.hangoutLink, label: `meet.google.com/${conferenceId}` },
    ],
    conferenceSolution: {
      key: { type: 'hangoutsMeet' },
      name: 'Google Meet',
      iconUri: 'https://fonts.gstatic.com/s/i/productlogos/meet_2020q4/v6/icon.png',
    },
    conferenceId,
  };
}

/** Without version 1, Calendar reads no conference from a request and keeps what is there. */
function restoreConference(event: GoogleEvent, before: GoogleEvent | null): void {
  delete event.conferenceData;
  delete event.hangoutLink;
  if (before?.conferenceData) event.conferenceData = before.conferenceData;
  if (before?.hangoutLink) event.hangoutLink = before.hangoutLink;
}
