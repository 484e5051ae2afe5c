import {
  assertMatches,
  bodyOf,
  type GraphContext,
  type GraphRoute,
  property,
  reading,
  writing,
} from '../graph/context.ts';
import { page, selected } from '../graph/odata.ts';
import type { PathValues } from '../http/routes.ts';
import { GraphError, graphErrors, type Json, type StubAnswer } from '../http/types.ts';
import { calendarIn, eventForm, eventIn, type FoundEvent } from './calendar-access.ts';
import type { StubSettings } from '../settings.ts';
import type { Attendee, EventContent, Instance, StoredEvent } from './event.ts';
import { calendarJson, eventJson } from './event-json.ts';
import { assertTimes, newEvent, readEvent } from './event-input.ts';
import { etag } from '../mail/message-json.ts';
import { cancelAll, inviteAll, joinUrlFor, respond } from './meetings.ts';
import { queryInstant } from './zones.ts';

/** Shorter lists are complete, see `StubSettings.unlistedInstances`. */
const LONG_LIST_MS = 40 * 86_400_000;

type Handler = (context: GraphContext, values: PathValues) => StubAnswer;

const routes = (method: string, path: string, handle: Handler): GraphRoute[] =>
  ['', 'calendar/', 'calendars/{calendar}/'].map((root) => ({
    method,
    path: root + path,
    handle,
    permissions: method === 'GET' ? reading('Calendars') : writing('Calendars'),
  }));

const ANSWERS = {
  accept: 'accepted',
  decline: 'declined',
  tentativelyAccept: 'tentativelyAccepted',
} as const;

/** Routes of events. */
export const eventRoutes: GraphRoute[] = [
  ...routes('GET', 'events', list),
  ...routes('POST', 'events', create),
  ...routes('GET', 'events/{event}', (context, values) =>
    shown(context, eventIn(context, values), 200),
  ),
  ...routes('PATCH', 'events/{event}', patch),
  ...routes('DELETE', 'events/{event}', remove),
  ...routes('GET', 'events/{event}/instances', instances),
  ...routes('GET', 'events/{event}/calendar', calendarOf),
  ...routes('POST', 'events/{event}/cancel', cancel),
  ...Object.entries(ANSWERS).flatMap(([action, response]) =>
    routes('POST', `events/{event}/${action}`, (context, values) =>
      answer(context, values, response),
    ),
  ),
];

function list(context: GraphContext, values: PathValues): StubAnswer {
  const form = eventForm(context);
  const items = context.user.calendars
    .eventsOf(calendarIn(context, values).id)
    .map((event) => eventJson(event, form));
  return { status: 200, body: page({ items, url: context.url, query: context.request.query }) };
}

function create(context: GraphContext, values: PathValues): StubAnswer {
  const { world, user } = context;
  const calendar = calendarIn(context, values);
  const body = bodyOf(context);
  const transactionId = typeof body['transactionId'] === 'string' ? body['transactionId'] : null;
  const same = user.calendars.allEvents().find((event) => event.transactionId === transactionId);
  // A repeated request changes nothing. Microsoft does not say what it is answered by.
  const { repeatedCreation } = world.settings;
  if (transactionId !== null && same && repeatedCreation !== 'another') {
    if (repeatedCreation === 'found') return shown(context, { event: same }, 201);
    throw new GraphError(
      409,
      'ErrorDuplicateTransactionId',
      "Your request can't be completed. The client request id has already been used.",
    );
  }
  const content = newEvent(readEvent(body));
  assertMeeting(context, content);
  const event = user.calendars.add(calendar.id, content, {
    organizer: world.personOf(user),
    isOrganizer: true,
    response: 'organizer',
    transactionId,
    joinUrl: joinUrlFor(content),
  });
  inviteAll(world, user, event, null);
  return shown(context, { event }, 201);
}

/** Only the kinds of meetings are made that the calendar allows. @throws {GraphError} 400 */
function assertMeeting({ world }: GraphContext, fields: Partial<EventContent>): void {
  const { isOnlineMeeting, onlineMeetingProvider = 'unknown' } = fields;
  const isAllowed = world.settings.meetingProviders.includes(onlineMeetingProvider);
  if (isOnlineMeeting && onlineMeetingProvider !== 'unknown' && !isAllowed)
    throw graphErrors.invalidRequest(
      "The value of 'onlineMeetingProvider' is not allowed by the calendar.",
    );
}

/** The calendar of an event. */
function calendarOf(context: GraphContext, values: PathValues): StubAnswer {
  const { event } = eventIn(context, values);
  const { user, world, request } = context;
  const calendar = user.calendars.calendars.get(event.calendarId);
  if (!calendar) throw graphErrors.itemNotFound();
  const json = calendarJson(calendar, world.personOf(user), world.settings.meetingProviders);
  return { status: 200, body: selected(json, request.query) };
}

function patch(context: GraphContext, values: PathValues): StubAnswer {
  const { world, user } = context;
  const found = eventIn(context, values);
  const fields = readEvent(bodyOf(context));
  assertMeeting(context, fields);
  const { event: old, instance } = found;
  assertMatches(context, etag(old, old.version));
  const start = instance?.start ?? old.start;
  const end = instance?.end ?? old.end;
  assertTimes({ start, end, isAllDay: old.isAllDay, startZone: old.startZone, ...fields });
  const event =
    instance?.type === 'occurrence' ? user.calendars.exceptionOf(instance) : found.event;
  const before = { ...event };
  const changes: Partial<StoredEvent> = { ...fields, ...attendeesIn(fields, event) };
  const joinUrl = joinUrlFor({ ...event, ...fields });
  if (event.joinUrl === null && joinUrl !== null) changes.joinUrl = joinUrl;
  user.calendars.update(event, changes);
  if (event.isOrganizer && concernsAttendees(fields)) inviteAll(world, user, event, before);
  return shown(context, again(context, values), 200);
}

/** Attendees that stay keep their answers. */
function attendeesIn(
  { attendees }: Partial<EventContent>,
  event: StoredEvent,
): { attendees?: Attendee[] } {
  if (!attendees) return {};
  const known = new Map(event.attendees.map((one) => [one.address.toLowerCase(), one]));
  return {
    attendees: attendees.map((attendee) => {
      const earlier = known.get(attendee.address.toLowerCase());
      const { response = 'none', responded = null } = earlier ?? {};
      return { ...attendee, response, responded };
    }),
  };
}

/** Changes that only concern the owner of the calendar cause no mail. */
const OWN = new Set(['showAs', 'isReminderOn', 'reminderMinutesBeforeStart', 'categories']);
const concernsAttendees = (fields: Partial<EventContent>) =>
  Object.keys(fields).some((name) => !OWN.has(name));

const again = (context: GraphContext, values: PathValues): FoundEvent => eventIn(context, values);

function remove(context: GraphContext, values: PathValues): StubAnswer {
  const found = eventIn(context, values);
  if (found.event.isOrganizer && !found.event.isCancelled) cancelFound(context, found, '');
  else removeFound(context, found);
  return { status: 204 };
}

function cancel(context: GraphContext, values: PathValues): StubAnswer {
  const found = eventIn(context, values);
  if (!found.event.isOrganizer) {
    throw graphErrors.invalidRequest('You need to be an organizer to cancel a meeting.');
  }
  cancelFound(context, found, String(property(bodyOf(context), 'comment') ?? ''));
  return { status: 202 };
}

function cancelFound(context: GraphContext, found: FoundEvent, comment: string): void {
  const { event, instance } = found;
  const originalStart = instance?.originalStart ?? event.originalStart;
  cancelAll(context.world, context.user, { ...event, originalStart }, comment);
  removeFound(context, found);
}

function removeFound({ user }: GraphContext, { event, instance }: FoundEvent): void {
  const { originalStart = null } = instance ?? {};
  if (originalStart === null) user.calendars.remove(event);
  else user.calendars.removeOccurrence(event.master ?? event, originalStart);
}

function instances(context: GraphContext, values: PathValues): StubAnswer {
  const { event } = eventIn(context, values);
  const { query } = context.request;
  const form = eventForm(context);
  const [from, until] = [queryInstant(query, 'startDateTime'), queryInstant(query, 'endDateTime')];
  const found = context.user.calendars.instancesOf(event, from, until);
  const items = listed(found, context.world.settings, until - from).map((instance) =>
    eventJson(instance.event, form, instance),
  );
  return { status: 200, body: page({ items, url: context.url, query }) };
}

/** What a list of this length shows of instances, see `unlistedInstances`. */
function listed(found: Instance[], { unlistedInstances }: StubSettings, ms: number): Instance[] {
  if (unlistedInstances === 'all') return [];
  const isShort = unlistedInstances === 'last' && ms > LONG_LIST_MS;
  return isShort ? found.slice(0, -1) : found;
}

function answer(
  context: GraphContext,
  values: PathValues,
  response: (typeof ANSWERS)[keyof typeof ANSWERS],
): StubAnswer {
  const { event, instance } = eventIn(context, values);
  if (event.isOrganizer) {
    throw graphErrors.invalidRequest(
      "Your request can't be completed. You can't respond to this meeting because you're the meeting organizer.",
    );
  }
  const body = bodyOf(context);
  const target =
    instance?.type === 'occurrence' ? context.user.calendars.exceptionOf(instance) : event;
  respond(context.world, context.user, target, response, {
    send: property(body, 'sendResponse') !== false,
    comment: String(property(body, 'comment') ?? ''),
  });
  return { status: 202 };
}

function shown(context: GraphContext, { event, instance }: FoundEvent, status: number): StubAnswer {
  const json: Json = eventJson(event, eventForm(context), instance);
  return { status, body: selected(json, context.request.query) };
}
