import {
  bodyOf,
  deltaPageSize,
  type GraphContext,
  type GraphRoute,
  reading,
  writing,
} from '../graph/context.ts';
import { withExtended, writeExtended } from '../graph/extended-properties.ts';
import { page, selected } from '../graph/odata.ts';
import { type DeltaGroup, snapshotDelta } from '../graph/snapshot-delta.ts';
import type { PathValues } from '../http/routes.ts';
import { GraphError, graphErrors, type Json, type StubAnswer } from '../http/types.ts';
import { idIn } from '../mail/message-json.ts';
import { calendarIn, eventForm } from './calendar-access.ts';
import type { Instance, StoredCalendar, StoredEvent } from './event.ts';
import { calendarJson, type EventForm, eventJson, occurrenceJson } from './event-json.ts';
import { queryInstant } from './zones.ts';

type Handler = (context: GraphContext, values: PathValues) => StubAnswer;

const route = (method: string, path: string, handle: Handler): GraphRoute => ({
  method,
  path,
  handle,
  permissions: method === 'GET' ? reading('Calendars') : writing('Calendars'),
});

/** Routes of calendars and of their views. */
export const calendarRoutes: GraphRoute[] = [
  route('GET', 'calendars', (context) => ({
    status: 200,
    body: page({
      items: [...context.user.calendars.calendars.values()].map((one) => json(context, one)),
      url: context.url,
      query: context.request.query,
    }),
  })),
  route('POST', 'calendars', (context) => {
    const { user } = context;
    const name = nameIn(context);
    assertFree(context, name);
    const calendar = user.calendars.addCalendar(name);
    calendar.extended = writeExtended([], bodyOf(context));
    return { status: 201, body: json(context, calendar) };
  }),
  ...['calendar', 'calendars/{calendar}'].flatMap((path) => [
    route('GET', path, (context, values) => ({
      status: 200,
      body: json(context, calendarIn(context, values)),
    })),
    route('PATCH', path, (context, values) => {
      const calendar = calendarIn(context, values);
      const name = nameIn(context);
      if (name !== calendar.name) assertFree(context, name);
      const extended = writeExtended(calendar.extended, bodyOf(context));
      Object.assign(calendar, { name, extended, version: calendar.version + 1 });
      return { status: 200, body: json(context, calendar) };
    }),
    route('GET', `${path}/calendarView`, view),
    route('GET', `${path}/calendarView/delta`, delta),
  ]),
  route('DELETE', 'calendars/{calendar}', (context, values) => {
    const calendar = calendarIn(context, values);
    if (calendar.isDefault) {
      throw graphErrors.invalidRequest('The default calendar cannot be deleted.');
    }
    context.user.calendars.removeCalendar(calendar);
    return { status: 204 };
  }),
  route('GET', 'calendarView', view),
  route('GET', 'calendarView/delta', delta),
];

const json = ({ user, world, request }: GraphContext, calendar: StoredCalendar): Json =>
  withExtended(
    selected(
      calendarJson(calendar, world.personOf(user), world.settings.meetingProviders),
      request.query,
    ),
    calendar.extended,
    request.query,
  );

function nameIn(context: GraphContext): string {
  const { name } = bodyOf(context);
  if (typeof name === 'string' && name.trim() !== '') return name;
  throw graphErrors.invalidRequest("The property 'name' is required.");
}

function assertFree({ user }: GraphContext, name: string): void {
  const taken = [...user.calendars.calendars.values()].some(
    (calendar) => calendar.name.toLowerCase() === name.toLowerCase(),
  );
  if (taken) {
    throw new GraphError(
      409,
      'ErrorFolderExists',
      'A folder with the specified name already exists.',
    );
  }
}

interface Window {
  from: number;
  until: number;
}

const windowIn = (query: URLSearchParams): Window => ({
  from: queryInstant(query, 'startDateTime'),
  until: queryInstant(query, 'endDateTime'),
});

function view(context: GraphContext, values: PathValues): StubAnswer {
  const { query } = context.request;
  const { from, until } = windowIn(query);
  const form = eventForm(context);
  const { calendars } = context.user;
  const items = calendars
    .eventsOf(calendarIn(context, values).id)
    .flatMap((event) => calendars.instancesOf(event, from, until))
    .toSorted((a, b) => a.start - b.start)
    .map((instance) => eventJson(instance.event, form, instance));
  return { status: 200, body: page({ items, url: context.url, query }) };
}

const UNSUPPORTED = ['$filter', '$orderby', '$search', '$expand'];

/**
 * Changes to the events of a window. Occurrences are reported in short; a change to a series
 * reports all of it, and nothing is said about occurrences that were removed from it.
 */
function delta(context: GraphContext, values: PathValues): StubAnswer {
  const { query } = context.request;
  const isFirst = !query.has('$skiptoken') && !query.has('$deltatoken');
  const option = UNSUPPORTED.find((name) => query.has(name));
  if (option !== undefined) {
    throw graphErrors.badRequest(`The query parameter '${option}' is not supported.`);
  }
  if (isFirst) windowIn(query);
  const calendar = calendarIn(context, values);
  const form = eventForm(context);
  return {
    status: 200,
    body: snapshotDelta({
      tokens: context.world.deltas,
      list: `${context.user.email} ${calendar.id}`,
      url: context.url,
      query,
      pageSize: deltaPageSize(context),
      type: '#microsoft.graph.event',
      hidesRemovedParts: true,
      groups: (first) => groupsIn(context, calendar, form, windowIn(first)),
    }),
  };
}

function groupsIn(
  { user: { calendars } }: GraphContext,
  calendar: StoredCalendar,
  form: EventForm,
  { from, until }: Window,
): Map<string, DeltaGroup> {
  const groups = new Map<string, DeltaGroup>();
  for (const event of calendars.eventsOf(calendar.id)) {
    const instances = calendars.instancesOf(event, from, until);
    if (instances.length > 0) groups.set(event.immutableId, groupOf(event, instances, form));
  }
  return groups;
}

function groupOf(event: StoredEvent, instances: Instance[], form: EventForm): DeltaGroup {
  const parts = event.recurrence ? [event, ...instances.map(({ ids }) => ids)] : [event];
  return {
    fingerprint: `${event.version} ${instances.length}`,
    ids: parts.map((ids) => idIn(form, ids)),
    show: () => {
      if (!event.recurrence) return [typed(eventJson(event, form))];
      const shown = instances.map((instance) =>
        instance.type === 'occurrence'
          ? occurrenceJson(instance, form)
          : typed(eventJson(instance.event, form, instance)),
      );
      return [typed(eventJson(event, form)), ...shown];
    },
  };
}

const typed = (item: Json): Json => ({ '@odata.type': '#microsoft.graph.event', ...item });
