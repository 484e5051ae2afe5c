import { graphErrors, type Json } from '../http/types.ts';
import type { Attendee, EventContent } from './event.ts';
import { assertRecurrence, type Recurrence } from './recurrence.ts';
import { instantOf, zoneOf } from './zones.ts';

/** Fields of an event that a JSON body sets; a field it does not name is absent. */
export function readEvent(body: Json): Partial<EventContent> {
  const fields: Partial<EventContent> = {};
  copyText(body, fields, ['subject', 'showAs', 'sensitivity', 'importance']);
  copyFlags(body, fields, [
    'isAllDay',
    'isReminderOn',
    'isOnlineMeeting',
    'responseRequested',
    'allowNewTimeProposals',
    'hideAttendees',
  ]);
  if (typeof body['onlineMeetingProvider'] === 'string') {
    fields.onlineMeetingProvider = body['onlineMeetingProvider'];
  }
  if (typeof body['reminderMinutesBeforeStart'] === 'number') {
    fields.reminderMinutesBeforeStart = body['reminderMinutesBeforeStart'];
  }
  if (Array.isArray(body['categories'])) fields.categories = body['categories'].map(String);
  if (body['body']) fields.body = itemBody(body['body'] as Json);
  if (body['location']) fields.location = location(body['location'] as Json);
  if (body['start']) Object.assign(fields, time(body['start'] as Json, 'start'));
  if (body['end']) Object.assign(fields, time(body['end'] as Json, 'end'));
  if ('attendees' in body) fields.attendees = (body['attendees'] as Json[]).map(attendee);
  if ('recurrence' in body) fields.recurrence = recurrence(body['recurrence']);
  return fields;
}

/** A new event from the fields that a JSON body sets. @throws {GraphError} 400 */
export function newEvent(fields: Partial<EventContent>): EventContent {
  const { start, end, isAllDay = false } = fields;
  if (start === undefined || end === undefined) {
    throw graphErrors.invalidRequest("The properties 'start' and 'end' are required.");
  }
  assertTimes({ ...fields, start, end, isAllDay });
  return {
    subject: '',
    body: { contentType: 'html', content: '' },
    startZone: 'UTC',
    endZone: 'UTC',
    location: { displayName: '', locationType: 'default' },
    attendees: [],
    recurrence: null,
    showAs: isAllDay ? 'free' : 'busy',
    sensitivity: 'normal',
    importance: 'normal',
    isReminderOn: true,
    reminderMinutesBeforeStart: 15,
    categories: [],
    isOnlineMeeting: false,
    onlineMeetingProvider: 'unknown',
    responseRequested: true,
    allowNewTimeProposals: true,
    hideAttendees: false,
    ...fields,
    start,
    end,
    isAllDay,
  };
}

/** Checks the times of an event. @throws {GraphError} 400 */
export function assertTimes({
  start,
  end,
  isAllDay,
  startZone = 'UTC',
}: Pick<EventContent, 'start' | 'end' | 'isAllDay'> & { startZone?: string }): void {
  if (end < start) {
    throw graphErrors.invalidRequest('The end date must come after the start date.');
  }
  if (!isAllDay) return;
  const wall = new Date(start).toLocaleTimeString('en-GB', { timeZone: zoneOf(startZone) });
  if (wall !== '00:00:00' || (end - start) % 3_600_000 !== 0 || end - start < 23 * 3_600_000) {
    throw graphErrors.invalidRequest(
      'The Event.Start and Event.End properties of an all day event must be midnight, and at least a day apart.',
    );
  }
}

function time(value: Json, name: 'start' | 'end'): Partial<EventContent> {
  const zone = String(value['timeZone'] ?? 'UTC');
  return { [name]: instantOf(value), [`${name}Zone`]: zone };
}

function attendee(value: Json): Attendee {
  const { address, name } = (value['emailAddress'] ?? {}) as Json;
  if (typeof address !== 'string') {
    throw graphErrors.invalidRequest("The property 'emailAddress.address' is required.");
  }
  const { type } = value;
  return {
    type: type === 'optional' || type === 'resource' ? type : 'required',
    address,
    name: typeof name === 'string' ? name : address,
    response: 'none',
    responded: null,
  };
}

function recurrence(value: unknown): Recurrence | null {
  if (value === null) return null;
  assertRecurrence(value as Recurrence);
  return value as Recurrence;
}

/** Exchange keeps the text of events as HTML. */
function itemBody({ contentType, content }: Json): EventContent['body'] {
  const text = String(content ?? '');
  if (String(contentType).toLowerCase() === 'html') return { contentType: 'html', content: text };
  const escaped = text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/\r?\n/g, '<br>');
  return { contentType: 'html', content: `<html><body>${escaped}</body></html>` };
}

const location = (value: Json): Json => ({
  displayName: '',
  locationType: 'default',
  ...value,
});

function copyText(body: Json, fields: Json, names: string[]): void {
  for (const name of names) if (typeof body[name] === 'string') fields[name] = body[name];
}

function copyFlags(body: Json, fields: Json, names: string[]): void {
  for (const name of names) if (typeof body[name] === 'boolean') fields[name] = body[name];
}
