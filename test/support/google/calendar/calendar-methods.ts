import type { StubAnswer } from '../../remote-stub/messages.ts';
import { type GoogleCall, type GoogleRouter, NO_CONTENT, ok, page, pageSize } from '../call.ts';
import { GoogleError, invalid } from '../errors.ts';
import { NEEDS } from '../scopes.ts';
import { calendarMethod, calendarOf, missing, RANK, versionOf } from './access.ts';
import type { ListEntry } from './calendars.ts';
import type { Channel } from './channels.ts';
import { etagOf } from './google-event.ts';
import type { AccessRole, CalendarSettings, StubCalendar } from './stub-calendar.ts';

const BASE = '/calendar/v3';
const LIST = `${BASE}/users/me/calendarList`;

/** Adds the methods of calendars, of the list of calendars, and of channels. */
export function addCalendarMethods(router: GoogleRouter): void {
  const { calendarsRead, calendarsWrite, calendarListRead, calendarListWrite } = NEEDS;
  router.add('POST', `${BASE}/calendars`, calendarMethod(calendarsWrite, create));
  const one = `${BASE}/calendars/{calendarId}`;
  router.add('GET', one, calendarMethod(calendarsRead, get));
  router.add('PATCH', one, calendarMethod(calendarsWrite, change));
  router.add('PUT', one, calendarMethod(calendarsWrite, change));
  router.add('DELETE', one, calendarMethod(calendarsWrite, remove));
  router.add('GET', LIST, calendarMethod(calendarListRead, list));
  router.add('POST', LIST, calendarMethod(calendarListWrite, subscribe));
  router.add('POST', `${LIST}/watch`, calendarMethod(calendarListRead, watch));
  router.add('GET', `${LIST}/{calendarId}`, calendarMethod(calendarListRead, getEntry));
  router.add('PATCH', `${LIST}/{calendarId}`, calendarMethod(calendarListWrite, changeEntry));
  router.add('PUT', `${LIST}/{calendarId}`, calendarMethod(calendarListWrite, changeEntry));
  router.add('DELETE', `${LIST}/{calendarId}`, calendarMethod(calendarListWrite, unsubscribe));
  router.add('POST', `${BASE}/channels/stop`, calendarMethod(NEEDS.eventsRead, stopChannel));
}

/** A channel as the interface shows it. */
export function channelView(channel: Channel): object {
  const { id, resourceId, resourceUri, token, expiresAt } = channel;
  return {
    kind: 'api#channel',
    id,
    resourceId,
    resourceUri,
    ...(token !== null && { token }),
    expiration: String(expiresAt),
  };
}

function calendarView({ id, version, settings }: StubCalendar): object {
  const conferenceProperties = { allowedConferenceSolutionTypes: ['hangoutsMeet'] };
  return {
    kind: 'calendar#calendar',
    etag: etagOf(version),
    id,
    ...settings,
    conferenceProperties,
  };
}

function settingsIn(body: Record<string, unknown>): Partial<CalendarSettings> {
  const names = ['summary', 'description', 'location', 'timeZone'] as const;
  return Object.fromEntries(
    names.flatMap((name) => (typeof body[name] === 'string' ? [[name, body[name]]] : [])),
  );
}

function create({ world, user, body }: GoogleCall): StubAnswer {
  const settings = settingsIn(body);
  if (!settings.summary) throw invalid('Missing title.', 'required');
  const { calendars } = world;
  const timeZone = calendars.all.get(user.email)?.zone ?? 'UTC';
  const { summary } = settings;
  return ok(calendarView(calendars.addSecondary(user.email, { timeZone, ...settings, summary })));
}

function get(call: GoogleCall): StubAnswer {
  return ok(calendarView(calendarOf(call, 'reader')));
}

function change(call: GoogleCall): StubAnswer {
  const calendar = calendarOf(call, 'owner');
  calendar.settings = { ...calendar.settings, ...settingsIn(call.body) };
  call.world.calendars.touch(calendar);
  return ok(calendarView(calendar));
}

function remove(call: GoogleCall): StubAnswer {
  const calendar = calendarOf(call, 'owner');
  if (calendar.id === call.user.email)
    throw new GoogleError(403, 'forbidden', 'The primary calendar cannot be deleted.');
  call.world.calendars.remove(calendar);
  return NO_CONTENT;
}

/** An entry of the list as the interface shows it. */
function entryView({ world, user }: GoogleCall, entry: ListEntry): object {
  const { calendarId: id, own, isDeleted, version } = entry;
  const calendar = world.calendars.all.get(id);
  const base = { kind: 'calendar#calendarListEntry', etag: etagOf(version), id };
  if (isDeleted || !calendar) return { ...base, deleted: true };
  return {
    ...base,
    ...calendar.settings,
    colorId: '14',
    backgroundColor: '#9fe1e7',
    foregroundColor: '#000000',
    selected: true,
    ...own,
    accessRole: calendar.access.get(user.email),
    defaultReminders: own['defaultReminders'] ?? [],
    conferenceProperties: { allowedConferenceSolutionTypes: ['hangoutsMeet'] },
    ...(id === user.email && { primary: true }),
  };
}

function list(call: GoogleCall): StubAnswer {
  const { world, user, query } = call;
  const { entries, version: now, oldestToken } = world.calendars.listOf(user.email);
  const token = query.get('syncToken');
  const since = token === null ? null : versionOf(token, oldestToken);
  const least = query.get('minAccessRole') as AccessRole | null;
  const mayUse = (calendarId: string) => {
    const role = world.calendars.all.get(calendarId)?.access.get(user.email);
    return least === null || (role !== undefined && RANK[role] >= RANK[least]);
  };
  const all = [...entries.values()].filter(
    ({ calendarId, isDeleted, own, version }) =>
      mayUse(calendarId) &&
      (since === null || version > since) &&
      (!isDeleted || since !== null || query.get('showDeleted') === 'true') &&
      (own['hidden'] !== true || since !== null || query.get('showHidden') === 'true'),
  );
  const [, version = now, last = null] = /^(\d+)~(.*)$/.exec(query.get('pageToken') ?? '') ?? [];
  const size = pageSize(query, 'maxResults', 100, 250);
  const { items, nextPageToken } = page(
    all,
    ({ calendarId }) => calendarId,
    size,
    last,
    world.habits.pages,
  );
  return ok({
    kind: 'calendar#calendarList',
    etag: etagOf(now),
    items: items.map((entry) => entryView(call, entry)),
    ...(nextPageToken === undefined
      ? { nextSyncToken: `sync_${version}` }
      : { nextPageToken: `${version}~${nextPageToken}` }),
  });
}

function entryOf(call: GoogleCall): ListEntry {
  const { world, user, params } = call;
  const id = params['calendarId'] === 'primary' ? user.email : (params['calendarId'] ?? '');
  const entry = world.calendars.listOf(user.email).entries.get(id);
  if (!entry || entry.isDeleted) throw missing();
  return entry;
}

const ENTRY_FIELDS = [
  'summaryOverride',
  'colorId',
  'backgroundColor',
  'foregroundColor',
  'hidden',
  'selected',
  'defaultReminders',
  'notificationSettings',
];

function entryFields(body: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => ENTRY_FIELDS.includes(name)));
}

function subscribe(call: GoogleCall): StubAnswer {
  const calendar = calendarOf(call, 'freeBusyReader', String(call.body['id'] ?? ''));
  const { email } = call.user;
  const entry = call.world.calendars.list(email, calendar.id, entryFields(call.body));
  return ok(entryView(call, entry));
}

function getEntry(call: GoogleCall): StubAnswer {
  return ok(entryView(call, entryOf(call)));
}

function changeEntry(call: GoogleCall): StubAnswer {
  const { calendarId } = entryOf(call);
  const fields = entryFields(call.body);
  return ok(entryView(call, call.world.calendars.list(call.user.email, calendarId, fields)));
}

function unsubscribe(call: GoogleCall): StubAnswer {
  const { calendarId } = entryOf(call);
  if (calendarId === call.user.email)
    throw new GoogleError(403, 'forbidden', 'The primary calendar cannot be removed.');
  call.world.calendars.unlist(call.user.email, calendarId);
  return NO_CONTENT;
}

function watch({ world, user, body }: GoogleCall): StubAnswer {
  const uri = 'https://www.googleapis.com/calendar/v3/users/me/calendarList?alt=json';
  return ok(channelView(world.calendars.channels.add(`list ${user.email}`, uri, body)));
}

function stopChannel({ world, body }: GoogleCall): StubAnswer {
  const { id, resourceId } = body as { id?: string; resourceId?: string };
  if (!world.calendars.channels.stop(id ?? '', resourceId ?? ''))
    throw new GoogleError(404, 'notFound', `Channel '${id}' not found for project '1'`);
  return NO_CONTENT;
}
