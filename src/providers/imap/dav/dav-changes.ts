import { createHash } from 'node:crypto';
import { getDAVAttribute, DAVNamespace } from 'tsdav';
import { z } from 'zod';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import {
  fetchObjects,
  isCrash,
  isRefusal,
  NOT_FOUND,
  type ObjectKind,
  type UnreadPath,
} from './calendars/dav-objects.ts';
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
  unread: UnreadPath[];
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

/** Status of the collection's own entry in a truncated listing (RFC 6578 section 3.6). */
const INSUFFICIENT_STORAGE = 507;
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
  if (cursor.by === 'etags')
    return byEtags(session, collection, kind, cursor, { limit, isFirst: false });
  const listing = await tryListing(session, collection, cursor.since);
  if (listing) return bySync(session, collection, kind, cursor, listing, limit);
  // The server no longer knows the token, or never issues one.
  const anew = cursor.since === null ? null : await tryListing(session, collection, null);
  const start = { by: 'sync', since: null, page: null } as const;
  if (anew) return bySync(session, collection, kind, start, anew, limit);
  return byEtags(
    session,
    collection,
    kind,
    { by: 'etags', tag: null, known: {} },
    { limit, isFirst: true },
  );
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
  const { processed, changed, unread } = await fetchObjects(
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
    changed,
    unread,
    cursor: JSON.stringify(cursor),
    more: pages || cutOff,
    removed,
    present: since === null && page === null ? [...etags.keys()] : null,
  };
}

async function byEtags(
  session: DavSession,
  collection: string,
  kind: ObjectKind,
  { tag, known, after = '' }: Extract<Cursor, { by: 'etags' }>,
  { limit, isFirst }: { limit: number; isFirst: boolean },
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
  const { processed, changed, unread, unfound } = await fetchObjects(
    session,
    collection,
    kind,
    wanted,
  );
  const paths = wanted.slice(0, processed);
  const hashes = new Map(
    changed
      .filter(({ path }) => listed.get(path) === null)
      .map(({ path, text }) => [path, hashOf(text)]),
  );
  const isNews = ({ path }: DavObject) =>
    known[path] === undefined || known[path] !== hashes.get(path);
  const absent = Object.keys(known).filter((path) => !listed.has(path));
  // One cause may empty the list and hide each object: the caller lists the collection again.
  const isEmptied = listed.size === 0 && absent.length > 0;
  const asked = isEmptied ? [] : absent.slice(0, Math.max(1, limit));
  const removed = new Set(await goneAmong(session, collection, kind, asked));
  const kept = Object.entries(known).filter(([path]) => !isEmptied && !removed.has(path));
  const returned = paths
    .filter((path) => !unfound.includes(path))
    .map((path) => [path, listed.get(path) ?? hashes.get(path) ?? '']);
  const isWaiting = waiting.length > paths.length;
  const more = isWaiting || (!isEmptied && absent.length > asked.length);
  const compared = paths.filter((path) => listed.get(path) === null).at(-1) ?? after;
  const cursor: Cursor = {
    by: 'etags',
    tag: more ? null : now,
    known: Object.fromEntries([...kept, ...returned]) as Record<string, string>,
    ...(isWaiting && compared !== '' ? { after: compared } : {}),
  };
  return {
    changed: changed.filter(isNews),
    unread,
    cursor: JSON.stringify(cursor),
    more,
    removed: [...removed],
    present: isFirst || isEmptied ? [...listed.keys()] : null,
  };
}

/**
 * Those of the objects that are gone: a list that lacks them may be incomplete. An object that the
 * server refuses to send is asked for again.
 * @throws {ProviderError} `temporary` if the server still has one of them
 */
async function goneAmong(
  session: DavSession,
  collection: string,
  kind: ObjectKind,
  paths: readonly string[],
): Promise<string[]> {
  const { changed, unfound } = await fetchObjects(session, collection, kind, paths);
  if (changed.length > 0)
    throw new ProviderError('temporary', 'The server does not list all objects of a collection');
  return unfound;
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
