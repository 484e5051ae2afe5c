import type { StubAnswer } from '../../remote-stub/messages.ts';
import { type GoogleCall, type GoogleMethod, type GoogleRouter, NO_CONTENT, ok } from '../call.ts';
import { GoogleError, invalid } from '../errors.ts';
import { NEEDS } from '../scopes.ts';
import { calendarMethod, calendarOf, checkIfMatch, missing } from './access.ts';
import { channelView } from './calendar-methods.ts';
import { listEvents, listInstances } from './event-listing.ts';
import {
  type Attendee,
  etagOf,
  eventView,
  type GoogleEvent,
  type StoredEvent,
} from './google-event.ts';
import { recordResponse, type SendUpdates, tellGuests } from './guests.ts';
import type { StubCalendar } from './stub-calendar.ts';
import { completed, newEvent, patched, writable } from './writing.ts';

const EVENTS = '/calendar/v3/calendars/{calendarId}/events';

const eventWrite = (handle: GoogleMethod['handle']): GoogleMethod => ({
  ...calendarMethod(NEEDS.eventsWrite, handle),
  isEventWrite: true,
});

/** Adds the methods of events. */
export function addEventMethods(router: GoogleRouter): void {
  router.add('GET', EVENTS, calendarMethod(NEEDS.eventsRead, listEvents));
  router.add('POST', EVENTS, eventWrite(insert));
  router.add('POST', `${EVENTS}/import`, eventWrite(imported));
  router.add('POST', `${EVENTS}/watch`, calendarMethod(NEEDS.eventsRead, watch));
  const one = `${EVENTS}/{eventId}`;
  router.add('GET', one, calendarMethod(NEEDS.eventsRead, get));
  router.add('PATCH', one, eventWrite(patch));
  router.add('PUT', one, eventWrite(update));
  router.add('DELETE', one, eventWrite(remove));
  router.add('GET', `${one}/instances`, calendarMethod(NEEDS.eventsRead, listInstances));
  router.add('POST', `${one}/move`, eventWrite(move));
}

function sendUpdates({ query }: GoogleCall): SendUpdates {
  const isOld = query.get('sendNotifications') === 'true';
  return (query.get('sendUpdates') ?? (isOld ? 'all' : 'none')) as SendUpdates;
}

function shown(stored: StoredEvent, calendar: StubCalendar): StubAnswer {
  const headers = { etag: etagOf(stored.version) };
  return { ...ok(eventView(stored, calendar.id, calendar.zone)), headers };
}

function stored(call: GoogleCall, calendar: StubCalendar): StoredEvent {
  const found = calendar.find(call.params['eventId'] ?? '');
  if (!found) throw missing();
  checkIfMatch(call, etagOf(found.version));
  return found;
}

function insert(call: GoogleCall): StubAnswer {
  const calendar = calendarOf(call, 'writer');
  const event = newEvent(call, calendar);
  calendar.put(event);
  tellGuests(call.world.calendars, calendar, event, null, sendUpdates(call));
  // A room may have answered already.
  return shown(calendar.find(event.id) as StoredEvent, calendar);
}

/** A private copy of an event of somebody else. It sends no mail. */
function imported(call: GoogleCall): StubAnswer {
  const calendar = calendarOf(call, 'writer');
  const { iCalUID, organizer } = call.body as { iCalUID?: string; organizer?: { email: string } };
  if (!iCalUID) throw invalid('Missing iCalUID.', 'required');
  const own = [...calendar.events.values()].find(
    ({ event }) => event.iCalUID === iCalUID && event.status !== 'cancelled',
  );
  const made = own ? { ...own.event, ...writable(call.body) } : newEvent(call, calendar, iCalUID);
  return shown(calendar.put({ ...made, ...(organizer && { organizer }) }), calendar);
}

function get(call: GoogleCall): StubAnswer {
  const calendar = calendarOf(call, 'reader');
  const found = calendar.find(call.params['eventId'] ?? '');
  if (!found) throw missing();
  const isKnown = call.request.headers['if-none-match'] === etagOf(found.version);
  return isKnown ? { status: 304, raw: '' } : shown(found, calendar);
}

function patch(call: GoogleCall): StubAnswer {
  return changed(call, ({ event }) => patched(event, call.body));
}

/** Replaces all fields that a client may write. */
function update(call: GoogleCall): StubAnswer {
  return changed(call, ({ event }) => {
    const { id, iCalUID, sequence, created, updated, creator, organizer } = event;
    const { recurringEventId, originalStartTime } = event;
    return {
      status: 'confirmed',
      sequence,
      ...writable(call.body),
      id,
      iCalUID,
      created,
      updated,
      creator,
      organizer,
      ...(recurringEventId && { recurringEventId, originalStartTime }),
    } as GoogleEvent;
  });
}

function changed(call: GoogleCall, change: (before: StoredEvent) => GoogleEvent): StubAnswer {
  const calendar = calendarOf(call, 'writer');
  const before = stored(call, calendar);
  if (before.event.status === 'cancelled' && call.body['status'] === undefined) throw deleted();
  const wanted = change(before);
  checkType(before.event, wanted);
  if (before.event.organizer.email !== calendar.id)
    return answeredInvitation(call, calendar, before, wanted);
  const event = completed(wanted, before.event, calendar, call.query);
  calendar.put(event);
  tellGuests(call.world.calendars, calendar, event, before.event, sendUpdates(call));
  return shown(calendar.find(event.id) as StoredEvent, calendar);
}

/** A guest changes the own copy, and the own answer everywhere. */
function answeredInvitation(
  call: GoogleCall,
  calendar: StubCalendar,
  { event: before }: StoredEvent,
  wanted: GoogleEvent,
): StubAnswer {
  const own = wanted.attendees?.find(({ email }) => email.toLowerCase() === calendar.id);
  const attendees = before.attendees ?? [];
  calendar.put({ ...wanted, ...(before.attendees && { attendees }) });
  if (own) respond(call, calendar, before, own);
  return shown(calendar.find(before.id) as StoredEvent, calendar);
}

function respond(
  call: GoogleCall,
  { id: guest }: StubCalendar,
  event: GoogleEvent,
  { responseStatus, comment, additionalGuests }: Attendee,
): void {
  const { calendars } = call.world;
  const { email: organizer } = event.organizer;
  recordResponse(calendars, calendars.all.get(organizer) ?? null, event.id, guest, {
    ...(responseStatus && { responseStatus }),
    ...(comment !== undefined && { comment }),
    ...(additionalGuests !== undefined && { additionalGuests }),
  });
  if (sendUpdates(call) !== 'none') calendars.mail('reply', organizer, event);
}

/** Types of events that clients cannot change at all. */
const FIXED: readonly unknown[] = ['birthday', 'fromGmail', 'workingLocation'];

/** @param wanted the changed event; null for a deletion */
function checkType(before: GoogleEvent, wanted: GoogleEvent | null): void {
  const type = before['eventType'] ?? 'default';
  const marks = (wanted?.['extendedProperties'] as { private?: object } | undefined)?.private;
  if (FIXED.includes(type) || (type !== 'default' && marks !== undefined))
    throw new GoogleError(400, 'eventTypeRestriction', `Event type restriction: ${String(type)}`, {
      entry: { domain: 'calendar' },
    });
}

function deleted(): GoogleError {
  return new GoogleError(410, 'deleted', 'Resource has been deleted');
}

function remove(call: GoogleCall): StubAnswer {
  const { calendars } = call.world;
  const calendar = calendarOf(call, 'writer');
  const { event } = stored(call, calendar);
  if (event.status === 'cancelled') throw deleted();
  checkType(event, null);
  const { id, organizer } = event;
  if (organizer.email === calendar.id) {
    calendar.cancel(event);
    tellGuests(calendars, calendar, { ...event, status: 'cancelled' }, event, sendUpdates(call));
    return NO_CONTENT;
  }
  const guest = event.attendees?.find(({ email }) => email === calendar.id);
  if (guest) respond(call, calendar, event, { ...guest, responseStatus: 'declined' });
  calendar.cancel(calendar.find(id)?.event ?? event);
  return NO_CONTENT;
}

/** Moves an event to another calendar, whose owner becomes its organizer. */
function move(call: GoogleCall): StubAnswer {
  const calendar = calendarOf(call, 'writer');
  const target = calendarOf(call, 'writer', call.query.get('destination') ?? '');
  const { event } = stored(call, calendar);
  if (event.recurringEventId) throw invalid('Cannot move an instance of a series.', 'invalid');
  const { summary: displayName } = target.settings;
  const moved = { ...event, organizer: { email: target.id, displayName } };
  calendar.cancel(event);
  return shown(target.put(moved), target);
}

function watch(call: GoogleCall): StubAnswer {
  const { id } = calendarOf(call, 'reader');
  const uri = `https://www.googleapis.com/calendar/v3/calendars/${id}/events?alt=json`;
  const { channels } = call.world.calendars;
  return ok(channelView(channels.add(`events ${id}`, uri, call.body)));
}
