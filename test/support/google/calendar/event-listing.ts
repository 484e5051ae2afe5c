import type { StubAnswer } from '../../remote-stub/messages.ts';
import { type GoogleCall, ok, page, pageSize } from '../call.ts';
import { GoogleError, invalid } from '../errors.ts';
import { calendarOf, missing, versionOf } from './access.ts';
import { etagOf, eventView, type GoogleEvent, type StoredEvent } from './google-event.ts';
import type { StubCalendar } from './stub-calendar.ts';

/** Parameters that cannot stand beside a sync token. */
const NOT_WITH_TOKEN = [
  'iCalUID',
  'orderBy',
  'privateExtendedProperty',
  'q',
  'sharedExtendedProperty',
  'timeMin',
  'timeMax',
  'updatedMin',
];

/** `events.list`: everything, or what changed since a sync token. */
export function listEvents(call: GoogleCall): StubAnswer {
  const { query } = call;
  const calendar = calendarOf(call, 'reader');
  const isSingle = query.get('singleEvents') === 'true';
  if (query.get('orderBy') === 'startTime' && !isSingle)
    throw invalid('The requested ordering is not available for the particular query.');
  const token = query.get('syncToken');
  const found = token === null ? everything(call, calendar) : changes(call, calendar, token);
  return answered(call, calendar, found, query.has('orderBy') || query.has('q'));
}

/** `events.instances`: the instances of one series. */
export function listInstances(call: GoogleCall): StubAnswer {
  const calendar = calendarOf(call, 'reader');
  const series = calendar.events.get(call.params['eventId'] ?? '');
  if (!series) throw missing();
  const [from, to] = rangeIn(call.query);
  const original = call.query.get('originalStart');
  const found = calendar
    .instancesOf(series, from, to)
    .filter(({ event }) => event.status !== 'cancelled' || isTrue(call, 'showDeleted'))
    .filter(({ event }) => original === null || startsAt(event, original))
    .sort((a, b) => calendar.rangeOf(a.event)[0] - calendar.rangeOf(b.event)[0]);
  return answered(call, calendar, found, true);
}

function startsAt({ originalStartTime: time }: GoogleEvent, text: string): boolean {
  return time?.date === text || Date.parse(time?.dateTime ?? '') === Date.parse(text);
}

function isTrue({ query }: GoogleCall, name: string): boolean {
  return query.get(name) === 'true';
}

function rangeIn(query: URLSearchParams): [from: number, to: number] {
  const from = Date.parse(query.get('timeMin') ?? '1900-01-01T00:00:00Z');
  const to = Date.parse(query.get('timeMax') ?? '9000-01-01T00:00:00Z');
  if (to <= from) throw invalid('The specified time range is empty.', 'timeRangeEmpty');
  return [from, to];
}

function everything(call: GoogleCall, calendar: StubCalendar): StoredEvent[] {
  const { query } = call;
  const [from, to] = rangeIn(query);
  const isSingle = isTrue(call, 'singleEvents');
  const updatedMin = Date.parse(query.get('updatedMin') ?? '1900-01-01T00:00:00Z');
  const showsDeleted = isTrue(call, 'showDeleted') || query.has('updatedMin');
  const q = (query.get('q') ?? '').toLowerCase();
  const uid = query.get('iCalUID');
  const stored = [...calendar.events.values()];
  const found = stored.flatMap((one) => {
    if (!one.event.recurrence) return isSingle && one.event.recurringEventId ? [] : [one];
    return isSingle && one.event.status !== 'cancelled'
      ? calendar.instancesOf(one, from, to)
      : [one];
  });
  const result = found.filter(({ event }) => {
    const isException = event.recurringEventId !== undefined && !isSingle;
    const isVisible = event.status !== 'cancelled' || showsDeleted || isException;
    return (
      isVisible &&
      isInRange(calendar, event, from, to) &&
      Date.parse(event.updated) >= updatedMin &&
      (uid === null || event.iCalUID === uid) &&
      hasProperties(event, query) &&
      (q === '' || JSON.stringify(event).toLowerCase().includes(q))
    );
  });
  const [byStart, byUpdate] = [calendar.rangeOf.bind(calendar), (e: GoogleEvent) => e.updated];
  if (query.get('orderBy') === 'startTime')
    result.sort((a, b) => byStart(a.event)[0] - byStart(b.event)[0]);
  if (query.get('orderBy') === 'updated')
    result.sort((a, b) => byUpdate(a.event).localeCompare(byUpdate(b.event)));
  return result;
}

function isInRange(calendar: StubCalendar, event: GoogleEvent, from: number, to: number): boolean {
  const [start, end] = calendar.rangeOf(event);
  if (event.recurrence)
    return start < to && calendar.instancesOf({ event, version: 0 }, from, to).length > 0;
  return start < to && (end > from || (start === end && start === from));
}

function hasProperties({ extendedProperties }: GoogleEvent, query: URLSearchParams): boolean {
  const properties = (extendedProperties ?? {}) as Record<string, Record<string, string>>;
  return (['private', 'shared'] as const).every((kind) =>
    query.getAll(`${kind}ExtendedProperty`).every((pair) => {
      const [name = '', value] = pair.split('=');
      return properties[kind]?.[name] === value;
    }),
  );
}

function changes(call: GoogleCall, calendar: StubCalendar, token: string): StoredEvent[] {
  const wrong = NOT_WITH_TOKEN.find((name) => call.query.has(name));
  if (wrong !== undefined)
    throw new GoogleError(400, 'badRequest', `Sync token cannot be combined with ${wrong}.`);
  const since = versionOf(token, calendar.oldestToken);
  const changed = [...calendar.events.values()].filter(({ version }) => version > since);
  if (!isTrue(call, 'singleEvents')) return changed;
  return changed.flatMap((stored) => {
    const { event, version } = stored;
    if (!event.recurrence) return [stored];
    const status = event.status;
    return calendar
      .instancesOf(stored, 0, Infinity)
      .map(({ event: instance }) => ({ event: { ...instance, status }, version }));
  });
}

function answered(
  { user, query, world }: GoogleCall,
  calendar: StubCalendar,
  found: StoredEvent[],
  isWithoutToken: boolean,
): StubAnswer {
  // All pages of one listing end with the version of its first page.
  const [, version = calendar.version, last = null] =
    /^(\d+)~(.*)$/.exec(query.get('pageToken') ?? '') ?? [];
  const size = pageSize(query, 'maxResults', 250, 2500);
  const { items, nextPageToken } = page(
    found,
    ({ event }) => event.id,
    size,
    last,
    world.habits.pages,
  );
  const { summary, description, timeZone } = calendar.settings;
  return ok({
    kind: 'calendar#events',
    etag: etagOf(calendar.version),
    summary,
    ...(description !== undefined && { description }),
    updated:
      found
        .map(({ event }) => event.updated)
        .sort()
        .at(-1) ?? new Date(0).toISOString(),
    timeZone,
    accessRole: calendar.access.get(user.email),
    defaultReminders: [{ method: 'popup', minutes: 10 }],
    items: items.map((stored) => eventView(stored, calendar.id, calendar.zone)),
    ...(nextPageToken !== undefined && { nextPageToken: `${version}~${nextPageToken}` }),
    ...(nextPageToken === undefined && !isWithoutToken && { nextSyncToken: `sync_${version}` }),
  });
}
