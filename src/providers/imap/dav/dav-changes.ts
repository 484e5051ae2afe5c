import { createHash } from 'node:crypto';
import { getDAVAttribute, DAVNamespace } from 'tsdav';
import { z } from 'zod';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { DavRefusedError } from './dav-error.ts';
import { DavAnswerTooLongError } from './dav-allowance.ts';
import { MOST_BYTES } from './dav-fetch.ts';
import { childrenOf, type DavObject, type DavSession, textOf } from './dav-session.ts';
import type { DavAnswer } from './dav-xml.ts';

export interface CollectionChanges {
  cursor: string;
  more: boolean;
  changed: DavObject[];
  removed: string[];
  /** Paths of all existing objects, if everything was listed again. `null` otherwise. */
  present: string[] | null;
  /** Objects that the server lists and that could not be read, each with the reason. */
  unread: { path: string; reason: string }[];
}

/**
 * Progress of listing changes.
 * - `sync`: the server tracks changes (RFC 6578). A listing that needs several pages requests the
 *   changes since the same token for each page and goes through the paths in order. It takes over
 *   the first page's token when it is complete.
 * - `etags`: the server does not track changes, so versions are compared.
 */
const cursorSchema = z.discriminatedUnion('by', [
  z.object({
    by: z.literal('sync'),
    since: z.string().nullable(),
    /** Set between two pages: the token to take over at the end, and the last path returned. */
    page: z.object({ next: z.string(), after: z.string() }).nullable(),
  }),
  z.object({
    by: z.literal('etags'),
    /** Version of the whole collection, set when everything has been returned. */
    tag: z.string().nullable(),
    /** Versions already returned, by path. An object without an etag has a hash of its text. */
    known: z.record(z.string(), z.string()),
    /** Last path without an etag that was compared, while a listing needs several pages. */
    after: z.string().optional(),
  }),
]);
type Cursor = z.infer<typeof cursorSchema>;

/** Reads a stored cursor. An unreadable one starts from the beginning. */
function parseCursor(text: string | null): Cursor {
  const start: Cursor = { by: 'sync', since: null, page: null };
  if (text === null) return start;
  try {
    return cursorSchema.parse(JSON.parse(text));
  } catch {
    return start;
  }
}

/** Number of objects fetched with one request. */
const BATCH = 50;
/** Status of the collection's own entry in a truncated listing (RFC 6578 section 3.6). */
const INSUFFICIENT_STORAGE = 507;
const NOT_FOUND = [404, 410];

/** Errors for requests that a server does not understand or does not allow. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ProviderError && ['rejected', 'unsupported', 'conflict'].includes(error.code);

/** Some servers answer an unknown token with status 500. They answer normally without a token. */
const isCrash = (error: unknown): boolean =>
  error instanceof DavRefusedError && error.status === 500;

interface Listing {
  /** Versions by path. */
  etags: Map<string, string>;
  removed: string[];
  token: string;
  cutOff: boolean;
}

/**
 * Lists what has changed in a collection since a cursor.
 * @param kind kind of objects in the collection
 * @param limit highest number of objects to return
 * @throws {ProviderError} `not-found` if the collection was deleted
 */
export async function collectionChanges(
  session: DavSession,
  collection: string,
  kind: ObjectKind,
  cursorText: string | null,
  limit: number,
): Promise<CollectionChanges> {
  const cursor = parseCursor(cursorText);
  if (cursor.by === 'etags') {
    const changes = await byEtags(session, collection, kind, cursor, limit);
    // There is a cursor, so this is no first listing, although `byEtags` may take it for one: on a
    // server without getctag, the cursor of an empty collection has neither a tag nor known
    // objects.
    return { ...changes, present: null };
  }
  const listing = await tryListing(session, collection, cursor.since);
  if (listing) return bySync(session, collection, kind, cursor, listing, limit);
  // The server no longer knows the token, or never issues one.
  const anew = cursor.since === null ? null : await tryListing(session, collection, null);
  const start = { by: 'sync', since: null, page: null } as const;
  if (anew) return bySync(session, collection, kind, start, anew, limit);
  return byEtags(session, collection, kind, { by: 'etags', tag: null, known: {} }, limit);
}

/** @returns `null` if the server offers no such listing */
async function tryListing(
  session: DavSession,
  collection: string,
  since: string | null,
): Promise<Listing | null> {
  const body = {
    'sync-collection': {
      _attributes: getDAVAttribute([DAVNamespace.DAV]),
      'sync-token': since ?? {},
      'sync-level': 1,
      prop: { getetag: {} },
    },
  };
  try {
    const listing = readListing(
      session,
      collection,
      await session.report(collection, body, 'd', '0'),
    );
    // A truncated first listing does not show which objects were deleted.
    return since === null && listing?.cutOff ? null : listing;
  } catch (error) {
    if (isRefusal(error) || (since !== null && isCrash(error))) return null;
    throw error;
  }
}

function readListing(
  session: DavSession,
  collection: string,
  { resources, token }: DavAnswer,
): Listing | null {
  if (!token) return null;
  const listing: Listing = { etags: new Map(), removed: [], token, cutOff: false };
  for (const response of resources) {
    if (!response.href) continue;
    const path = session.pathOf(response.href);
    if (isSame(path, collection)) listing.cutOff ||= response.status === INSUFFICIENT_STORAGE;
    else if (NOT_FOUND.includes(response.status)) listing.removed.push(path);
    else if (!path.endsWith('/')) listing.etags.set(path, textOf(response.props['getetag']) ?? '');
  }
  return listing;
}

const isSame = (path: string, collection: string) =>
  path.replace(/\/$/, '') === collection.replace(/\/$/, '');

async function bySync(
  session: DavSession,
  collection: string,
  kind: ObjectKind,
  { since, page }: Extract<Cursor, { by: 'sync' }>,
  { etags, removed, token, cutOff }: Listing,
  limit: number,
): Promise<CollectionChanges> {
  const after = page?.after ?? '';
  const waiting = [...etags.keys()].filter((path) => path > after).toSorted();
  const { processed, ...fetched } = await fetchObjects(
    session,
    collection,
    kind,
    waiting.slice(0, limit),
  );
  const paths = waiting.slice(0, processed);
  const next = page?.next ?? token;
  const pages = waiting.length > paths.length;
  const last = paths.at(-1);
  const cursor: Cursor =
    pages && last !== undefined
      ? { by: 'sync', since, page: { next, after: last } }
      : { by: 'sync', since: next, page: null };
  return {
    ...fetched,
    cursor: JSON.stringify(cursor),
    more: pages || cutOff,
    removed: [...removed, ...fetched.removed],
    present: since === null && page === null ? [...etags.keys()] : null,
  };
}

async function byEtags(
  session: DavSession,
  collection: string,
  kind: ObjectKind,
  { tag, known, after = '' }: Extract<Cursor, { by: 'etags' }>,
  limit: number,
): Promise<CollectionChanges> {
  const [self] = await session.propfind(collection, { 'cs:getctag': {} }, '0');
  const now = textOf(self?.props['getctag']);
  const none = { changed: [], removed: [], present: null, unread: [], more: false };
  if (tag !== null && now === tag)
    return { ...none, cursor: JSON.stringify({ by: 'etags', tag, known } satisfies Cursor) };
  const listed = await versionsIn(session, collection);
  const waiting = [...listed]
    .filter(([path, etag]) => (etag === null ? path > after : known[path] !== etag))
    .map(([path]) => path);
  const wanted = waiting.toSorted().slice(0, limit);
  const { processed, ...found } = await fetchObjects(session, collection, kind, wanted);
  const paths = wanted.slice(0, processed);
  const hashes = new Map(
    found.changed
      .filter(({ path }) => listed.get(path) === null)
      .map(({ path, text }) => [path, hashOf(text)]),
  );
  const isNews = ({ path }: DavObject) => known[path] === undefined || known[path] !== hashes.get(path); // prettier-ignore
  const fetched = { ...found, changed: found.changed.filter(isNews) };
  const removed = Object.keys(known).filter((path) => !listed.has(path));
  if (listed.size === 0) await assertGone(session, collection, kind, removed.slice(0, limit));
  const kept = Object.entries(known).filter(([path]) => listed.has(path));
  const more = waiting.length > paths.length;
  const returned = paths.map((path) => [path, listed.get(path) ?? hashes.get(path) ?? '']);
  const compared = paths.filter((path) => listed.get(path) === null).at(-1) ?? after;
  const cursor: Cursor = {
    by: 'etags',
    tag: more ? null : now,
    known: Object.fromEntries([...kept, ...returned]) as Record<string, string>,
    ...(more && compared !== '' ? { after: compared } : {}),
  };
  return {
    ...fetched,
    cursor: JSON.stringify(cursor),
    more,
    removed: [...removed, ...fetched.removed],
    present: tag === null && Object.keys(known).length === 0 ? [...listed.keys()] : null,
  };
}

/**
 * Makes sure that objects are gone: an empty list may be a failure that passes.
 * @throws {ProviderError} `temporary` if the server still has one of them
 */
async function assertGone(
  session: DavSession,
  collection: string,
  kind: ObjectKind,
  paths: readonly string[],
): Promise<void> {
  const { changed, unread } = await fetchObjects(session, collection, kind, paths);
  if (changed.length + unread.length > 0)
    throw new ProviderError(
      'temporary',
      'The server lists no objects of a collection that has some',
    );
}

/**
 * The objects of a collection with their etags. A server may leave out the etag of an object, of
 * all or of one for a while: the object is there nevertheless.
 */
async function versionsIn(
  session: DavSession,
  collection: string,
): Promise<Map<string, string | null>> {
  const listed = new Map<string, string | null>();
  const asked = { 'd:getetag': {}, 'd:resourcetype': {} };
  for (const { href, status, props } of await session.propfind(collection, asked, '1')) {
    const path = session.pathOf(href);
    const isCollection = 'collection' in childrenOf(props['resourcetype']);
    if (path.endsWith('/') || isSame(path, collection) || isCollection) continue;
    if (!NOT_FOUND.includes(status)) listed.set(path, textOf(props['getetag']));
  }
  return listed;
}

const hashOf = (text: string): string =>
  `text:${createHash('sha256').update(text).digest('base64url')}`;

/** Kind of objects in a collection, and how several of them are requested at once. */
export interface ObjectKind {
  report: 'calendar-multiget' | 'addressbook-multiget';
  namespace: 'c' | 'card';
  /** Property of the response. */
  property: 'calendarData' | 'addressData';
  request: 'c:calendar-data' | 'card:address-data';
}

/** Calendars (RFC 4791 section 7.9). */
export const CALENDAR_OBJECTS: ObjectKind = {
  report: 'calendar-multiget',
  namespace: 'c',
  property: 'calendarData',
  request: 'c:calendar-data',
};

/** Address books (RFC 6352 section 8.7). */
export const CARD_OBJECTS: ObjectKind = {
  report: 'addressbook-multiget',
  namespace: 'card',
  property: 'addressData',
  request: 'card:address-data',
};

type Fetched = Pick<CollectionChanges, 'changed' | 'removed' | 'unread'>;

/**
 * When the objects of a page exceed this total, the rest waits for the next page, because all
 * objects of a page are in memory. In UTF-16 units.
 */
const MOST_OF_A_PAGE = MOST_BYTES;

/**
 * Fetches objects in order. If a response is too long, the batch is halved, down to a single object
 * that is too large.
 * @returns also the number of paths processed (`processed`); the rest is for another page
 */
async function fetchObjects(
  session: DavSession,
  collection: string,
  kind: ObjectKind,
  paths: readonly string[],
): Promise<Fetched & { processed: number }> {
  const all = { changed: [], removed: [], unread: [], processed: 0 } as Fetched & {
    processed: number;
  };
  let batch = BATCH;
  let length = 0;
  while (all.processed < paths.length && length < MOST_OF_A_PAGE) {
    const wanted = paths.slice(all.processed, all.processed + batch);
    const found = await readObjects(session, collection, kind, wanted).catch((error: unknown) => {
      if (!(error instanceof DavAnswerTooLongError)) throw error;
      return null;
    });
    if (!found && wanted.length > 1) {
      batch = Math.ceil(wanted.length / 2);
      continue;
    }
    all.changed.push(...(found?.changed ?? []));
    all.removed.push(...(found?.removed ?? []));
    all.unread.push(
      ...(found?.unread ?? wanted.map((path) => ({ path, reason: 'it is too large' }))),
    );
    all.processed += wanted.length;
    for (const { text } of found?.changed ?? []) length += text.length;
  }
  return all;
}

/**
 * Reads objects together, and those that the answer leaves out one by one. An object that the
 * server refuses, or on which it fails, costs only itself.
 */
async function readObjects(
  session: DavSession,
  collection: string,
  kind: ObjectKind,
  paths: readonly string[],
): Promise<Fetched> {
  const found = await multiget(session, collection, kind, paths).catch((error: unknown) => {
    if (!isRefusal(error)) throw error;
    return { changed: [], removed: [], unread: [] } as Fetched;
  });
  const there = new Set([...found.changed.map(({ path }) => path), ...found.removed]);
  for (const path of paths.filter((one) => !there.has(one))) {
    try {
      found.changed.push(await session.get(path));
    } catch (error) {
      if (error instanceof ProviderError && error.code === 'not-found') found.removed.push(path);
      else if (isRefusal(error) || isCrash(error))
        found.unread.push({
          path,
          reason: `the server did not send it: ${(error as Error).message}`,
        });
      else throw error;
    }
  }
  return found;
}

async function multiget(
  session: DavSession,
  collection: string,
  { report, namespace, property, request }: ObjectKind,
  paths: readonly string[],
): Promise<Fetched> {
  const found: Fetched = { changed: [], removed: [], unread: [] };
  const body = {
    [report]: {
      _attributes: getDAVAttribute([DAVNamespace.DAV, DAVNamespace.CALDAV, DAVNamespace.CARDDAV]),
      'd:prop': { 'd:getetag': {}, [request]: {} },
      'd:href': [...paths],
    },
  };
  const { resources } = await session.report(collection, body, namespace, '1');
  for (const { href, status, props } of resources) {
    if (!href) continue;
    const path = session.pathOf(href);
    const text = textOf(props[property]);
    if (text !== null) found.changed.push({ path, etag: textOf(props['getetag']), text });
    // It was deleted after the listing.
    else if (NOT_FOUND.includes(status)) found.removed.push(path);
  }
  return found;
}
