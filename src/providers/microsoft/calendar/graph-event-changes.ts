import { createHash } from 'node:crypto';
import { z } from 'zod';
import { forEachAtOnce } from '../../../platform/base/concurrency/for-each-at-once.ts';
import type { UnreadObject } from '../../port/calendar-port.ts';
import type { EventChanges, ProviderAccount, RemoteEvent } from '../../port/connector.ts';
import { readCursor } from '../../rest/cursor.ts';
import { nullIfGone } from '../../rest/gone.ts';
import type { GraphApi, GraphPage, GraphRequest } from '../graph-api.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { GraphError } from '../graph-error.ts';
import { contentOf, EVENT_FIELDS, type GraphEvent, graphEvent, readEvent } from './graph-event.ts';
import type { GraphEventsApi, Occurrence } from './graph-events-api.ts';
import { differences } from '../graph-fields.ts';
import { IN_UTC } from './graph-time.ts';

const PREFER = [IN_UTC, 'outlook.body-content-type="text"'];
const VERSIONS_PER_PAGE = 500;
/** Events that are looked up at the same time: one of the four requests stays free. */
const AT_ONCE = 3;
/** Items that are stored at the same time may become visible in another order. */
const OVERLAP_MS = 120_000;

const version = z.object({
  id: z.string(),
  '@odata.etag': z.string().default(''),
  lastModifiedDateTime: z.string().nullish(),
});
type Version = z.infer<typeof version>;
const eventId = z.object({ id: z.string() });
const counted = z.object({ '@odata.count': z.number().optional() });

const cursorShape = z.object({
  by: z.literal('versions'),
  /**
   * Versions of the single events and series that were reported, by id. `''` for one that Graph
   * lists and does not find: it is asked for again.
   */
  known: z.record(z.string(), z.string()),
  /** Latest change among them. */
  since: z.string().nullable(),
  /** Page of the first listing; `null` when that is complete. */
  page: z.string().nullable(),
  /** True if the first listing is not complete. */
  first: z.boolean(),
});
type Cursor = z.infer<typeof cursorShape>;

/** In place of the version of an event that cannot be read. */
const UNREAD = '';
/** Most events that could not be read and are asked for again in a call. */
const MOST_RETRIED = 10;

const BEGIN: Cursor = { by: 'versions', known: {}, since: null, page: null, first: true };

/** Short, because the cursor has one for each event. */
const tagOf = (etag: string): string =>
  createHash('sha256').update(etag).digest('base64url').slice(0, 10);

const laterOf = (one: string | null, other: string | null | undefined): string | null =>
  Date.parse(other ?? '') > Date.parse(one ?? '1970-01-01') ? (other ?? null) : one;

/** What one call has found. `known` and `since` are those of the next cursor. */
interface Found {
  events: GraphEvent[];
  known: Record<string, string>;
  since: string | null;
  /** Events that are listed and not found. The mirror keeps what it has of them. */
  unread: UnreadObject[];
}

/**
 * Follows the events of a calendar by comparing versions (ADR 0084). A poll asks for what was
 * modified lately and how many events there are; only if the number is another than expected, all
 * ids are listed.
 */
export class GraphEventChanges {
  constructor(
    private readonly api: GraphApi,
    private readonly events: GraphEventsApi,
  ) {}

  /** See `CalendarPort.listEventChanges`. */
  async list(
    account: ProviderAccount,
    calendarId: string,
    cursor: string | null,
    limit: number,
  ): Promise<EventChanges> {
    const at = readCursor(cursor, cursorShape) ?? BEGIN;
    if (!at.first) return this.#later(account, calendarId, at, limit);
    try {
      return await this.#first(account, calendarId, at, limit);
    } catch (error) {
      // The link to the next page is too old.
      const isOld = error instanceof GraphError && [400, 410].includes(error.status);
      if (!isOld || at.page === null || error.code === 'not-found') throw error;
      return this.#first(account, calendarId, BEGIN, limit);
    }
  }

  /** A page of the first listing. The last one also brings what changed meanwhile, and all ids. */
  async #first(
    account: ProviderAccount,
    calendarId: string,
    at: Cursor,
    limit: number,
  ): Promise<EventChanges> {
    const query = { $select: EVENT_FIELDS, $top: Math.min(limit, 100) };
    const page = await this.#page(
      account,
      at.page === null ? { path: pathOf(calendarId), query } : { path: at.page, root: true },
    );
    const found: Found = { events: [], known: { ...at.known }, since: at.since, unread: [] };
    for (const one of page.value) {
      const event = graphEvent.safeParse(one).data;
      if (event) note(found, event);
    }
    if (page.next !== null) {
      const next = { ...at, known: found.known, since: found.since, page: page.next };
      return this.#answer(account, found, next, { more: true, present: null });
    }
    const versions = await this.#versions(account, calendarId);
    const removed = await this.#compare(account, calendarId, versions, found, limit);
    const more = isIncomplete(versions, found.known);
    const since = more ? null : found.since;
    const next = { ...at, known: found.known, since, page: null, first: false };
    const present = versions.map(({ id }) => id);
    return this.#answer(account, found, next, { more, removed, present });
  }

  async #later(
    account: ProviderAccount,
    calendarId: string,
    at: Cursor,
    limit: number,
  ): Promise<EventChanges> {
    const found: Found = { events: [], known: { ...at.known }, since: at.since, unread: [] };
    const recent = await this.#recent(account, calendarId, at);
    const isAll = recent === null || !(await this.#isComplete(account, calendarId, at, recent));
    const versions = isAll ? await this.#versions(account, calendarId) : recent;
    // One cause may empty the list and hide each event: the caller lists the calendar again.
    if (isAll && versions.length === 0 && Object.keys(at.known).length > 0) {
      const none = { ...at, known: {}, since: null };
      return this.#answer(account, found, none, { more: false, present: [] });
    }
    const again = isAll ? [] : unreadVersions(at.known, versions);
    const lost = await this.#compare(account, calendarId, [...versions, ...again], found, limit);
    const listed = new Set(versions.map(({ id }) => id));
    const absent = isAll ? Object.keys(found.known).filter((id) => !listed.has(id)) : [];
    const gone = absent.slice(0, Math.max(1, limit));
    await this.#assertGone(account, calendarId, gone);
    for (const id of [...gone, ...lost]) delete found.known[id];
    const more = gone.length < absent.length || isIncomplete(versions, found.known);
    const next = { ...at, known: found.known, since: more ? null : found.since };
    const removed = [...new Set([...gone, ...lost])];
    return this.#answer(account, found, next, { more, removed, present: null });
  }

  /** What was modified since the last call; `null` if everything has to be compared. */
  async #recent(
    account: ProviderAccount,
    calendarId: string,
    { since }: Cursor,
  ): Promise<Version[] | null> {
    if (since === null) return null;
    const from = new Date(Date.parse(since) - OVERLAP_MS).toISOString();
    return this.#versions(account, calendarId, { $filter: `lastModifiedDateTime ge ${from}` });
  }

  /** Whether nothing was deleted: then there are as many events as are known. */
  async #isComplete(
    account: ProviderAccount,
    calendarId: string,
    { known }: Cursor,
    recent: readonly Version[],
  ): Promise<boolean> {
    const query = { $select: 'id', $top: 1, $count: true };
    const request = { method: 'GET', path: pathOf(calendarId), query } as const;
    const answer = await this.api.read(account, { ...request, priority: 'interactive' }, counted);
    const added = recent.filter(({ id }) => known[id] === undefined).length;
    return answer['@odata.count'] === Object.keys(known).length + added;
  }

  /**
   * Reads events whose version is not known, at most `limit`. Those that cannot be read come last.
   * @returns ids of those that were deleted meanwhile
   */
  async #compare(
    account: ProviderAccount,
    calendarId: string,
    versions: readonly Version[],
    found: Found,
    limit: number,
  ): Promise<string[]> {
    const isUnread = ({ id }: Version) => found.known[id] === UNREAD;
    const waiting = versions
      .filter((one) => found.known[one.id] !== tagOf(one['@odata.etag']))
      .toSorted((one, other) => Number(isUnread(one)) - Number(isUnread(other)))
      .slice(0, Math.max(1, limit - found.events.length));
    const read = await Promise.all(waiting.map(({ id }) => this.events.find(account, id)));
    const gone: string[] = [];
    for (const [index, event] of read.entries()) {
      const listed = waiting[index]!;
      if (event) note(found, event, listed['@odata.etag'] || undefined);
      else gone.push(listed.id);
    }
    if (gone.length === 0) return gone;
    const still = new Set((await this.#versions(account, calendarId)).map(({ id }) => id));
    const reason = 'Microsoft lists the event, and does not find it';
    for (const providerId of gone.filter((id) => still.has(id))) {
      found.known[providerId] = UNREAD;
      found.unread.push({ providerId, reason });
    }
    return gone.filter((id) => !still.has(id));
  }

  /**
   * Makes sure that events have left a calendar whose list does not contain them: a list may be
   * incomplete, or empty for a while.
   * @throws {ProviderError} `temporary` if one of them is still in the calendar
   */
  async #assertGone(account: ProviderAccount, calendarId: string, ids: readonly string[]) {
    const query = { $select: 'id' };
    await forEachAtOnce(AT_ONCE, ids, async (id) => {
      const path = `${pathOf(calendarId)}/${encodeURIComponent(id)}`;
      const request = { method: 'GET', path, query, priority: 'interactive' } as const;
      if ((await nullIfGone(this.api.read(account, request, eventId))) !== null)
        throw new ProviderError('temporary', 'Microsoft: the list of events is not complete');
    });
  }

  #versions(
    account: ProviderAccount,
    calendarId: string,
    query: GraphRequest['query'] = {},
  ): Promise<Version[]> {
    const select = { $select: 'id,lastModifiedDateTime', $top: VERSIONS_PER_PAGE, ...query };
    const request = { method: 'GET', path: pathOf(calendarId), query: select } as const;
    return this.api.all(account, { ...request, priority: 'interactive' }, version);
  }

  #page(
    account: ProviderAccount,
    request: Pick<GraphRequest, 'path' | 'query' | 'root'>,
  ): Promise<GraphPage> {
    const all = { method: 'GET', priority: 'interactive', prefer: PREFER, ...request } as const;
    return this.api.page(account, all);
  }

  async #answer(
    account: ProviderAccount,
    { events, unread }: Found,
    cursor: Cursor,
    rest: { more: boolean; removed?: string[]; present: string[] | null },
  ): Promise<EventChanges> {
    // An event of two lists is reported once, as it was read last.
    const latest = [...new Map(events.map((event) => [event.id, event])).values()];
    const reported = await Promise.all(
      latest.map(async (event) => ({ ...event, remotes: await this.#remotes(account, event) })),
    );
    // Without one of its instances, the mirror would take that instance for one without changes.
    const failed = reported.filter(({ remotes }) => remotes === null).map(({ id }) => id);
    for (const id of failed) cursor.known[id] = UNREAD;
    const reason = 'Microsoft does not show all instances of the series';
    return {
      cursor: JSON.stringify(cursor),
      events: reported.flatMap(({ remotes }) => remotes ?? []),
      removed: [],
      read: latest.map(({ id }) => id).filter((id) => !failed.includes(id)),
      unread: [...unread, ...failed.map((providerId) => ({ providerId, reason }))],
      ...rest,
    };
  }

  /**
   * An event; a series together with its changed instances.
   * @returns `null` if Graph does not show all of its instances
   */
  async #remotes(account: ProviderAccount, event: GraphEvent): Promise<RemoteEvent[] | null> {
    const state = await this.events.stateOf(account, event);
    if (!state) return null;
    const fields = readEvent(event, state.excluded);
    if (!fields) return [];
    const changed = await Promise.all(
      state.exceptions.map(async (occurrence) => this.#instance(account, event, occurrence)),
    );
    const instances = changed.filter((one) => one !== null);
    if (instances.length < changed.length) return null;
    return [remoteOf(event, { ...contentOf(event, fields) }), ...instances.flat()];
  }

  /**
   * A changed instance; none if it is as its series says.
   * @returns `null` if Graph lists it and does not find it
   */
  async #instance(
    account: ProviderAccount,
    series: GraphEvent,
    { id, originalMs }: Occurrence,
  ): Promise<RemoteEvent[] | null> {
    const [event, defined] = [await this.events.find(account, id), readEvent(series)];
    if (!event) return null;
    const fields = readEvent(event);
    if (!fields || !defined) return [];
    if (!event.isCancelled && Object.keys(differences(defined, fields, originalMs)).length === 0)
      return [];
    const remote = remoteOf(event, { ...contentOf(event, fields) });
    const icalUid = series.iCalUId ?? series.id;
    const originalStartTime = originalMs / 1000;
    return [{ ...remote, icalUid, masterProviderId: series.id, originalStartTime }];
  }
}

const pathOf = (calendarId: string): string =>
  `/calendars/${encodeURIComponent(calendarId)}/events`;

/** @param etag of the list that led to the event: a later version is then read once more */
function note(found: Found, event: GraphEvent, etag = event['@odata.etag']): void {
  found.events.push(event);
  found.known[event.id] = tagOf(etag ?? '');
  found.since = laterOf(found.since, event.lastModifiedDateTime);
}

const isIncomplete = (versions: readonly Version[], known: Record<string, string>): boolean =>
  versions.some(({ id, '@odata.etag': etag }) => known[id] !== UNREAD && known[id] !== tagOf(etag));

/** Unmodified events that are requested again, because they could not be read before. */
function unreadVersions(
  known: Record<string, string>,
  recent: readonly { id: string }[],
): Version[] {
  const modified = new Set(recent.map(({ id }) => id));
  return Object.keys(known)
    .filter((id) => known[id] === UNREAD && !modified.has(id))
    .slice(0, MOST_RETRIED)
    .map((id) => ({ id, '@odata.etag': '' }));
}

function remoteOf(event: GraphEvent, content: RemoteEvent['content']): RemoteEvent {
  const { name, address } = event.organizer?.emailAddress ?? {};
  const email = address?.trim().toLowerCase();
  return {
    providerId: event.id,
    icalUid: event.iCalUId ?? event.id,
    content,
    masterProviderId: null,
    originalStartTime: null,
    organizer: email ? { email, name: name || null } : null,
    // Graph has no SEQUENCE.
    sequence: 0,
  };
}
