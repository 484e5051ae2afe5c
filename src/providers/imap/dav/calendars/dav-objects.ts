import { getDAVAttribute, DAVNamespace } from 'tsdav';
import { ProviderError } from '../../../../platform/base/errors/provider-error.ts';
import { DavAnswerTooLongError } from '../dav-allowance.ts';
import { DavRefusedError } from '../dav-error.ts';
import { MOST_BYTES } from '../dav-fetch.ts';
import { type DavObject, type DavSession, textOf } from '../dav-session.ts';

/* Reads the objects of a collection. */

/** Number of objects fetched with one request. */
const BATCH = 50;
/** Status codes of objects that do not exist. */
export const NOT_FOUND = [404, 410];

/** Errors for requests that a server does not understand or does not allow. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof ProviderError && ['rejected', 'unsupported', 'conflict'].includes(error.code);

/** Some servers answer an unknown token with status 500. They answer normally without a token. */
export const isCrash = (error: unknown): boolean =>
  error instanceof DavRefusedError && error.status === 500;

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

/** An object that could not be read. */
export interface UnreadPath {
  path: string;
  reason: string;
}

interface Fetched {
  changed: DavObject[];
  unread: UnreadPath[];
  /** Objects that the server does not find. They are in `unread` as well. */
  unfound: string[];
}

const NOT_THERE = 'the server lists it, and does not find it';

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
export async function fetchObjects(
  session: DavSession,
  collection: string,
  kind: ObjectKind,
  paths: readonly string[],
): Promise<Fetched & { processed: number }> {
  const all: Fetched & { processed: number } = {
    changed: [],
    unfound: [],
    unread: [],
    processed: 0,
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
    all.unfound.push(...(found?.unfound ?? []));
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
    return { changed: [], unfound: [], unread: [] } as Fetched;
  });
  const there = new Set([...found.changed.map(({ path }) => path), ...found.unfound]);
  for (const path of paths.filter((one) => !there.has(one))) {
    try {
      found.changed.push(await session.get(path));
    } catch (error) {
      if (error instanceof ProviderError && error.code === 'not-found') found.unfound.push(path);
      else if (isRefusal(error) || isCrash(error))
        found.unread.push({
          path,
          reason: `the server did not send it: ${(error as Error).message}`,
        });
      else throw error;
    }
  }
  for (const path of found.unfound) found.unread.push({ path, reason: NOT_THERE });
  return found;
}

async function multiget(
  session: DavSession,
  collection: string,
  { report, namespace, property, request }: ObjectKind,
  paths: readonly string[],
): Promise<Fetched> {
  const found: Fetched = { changed: [], unfound: [], unread: [] };
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
    else if (NOT_FOUND.includes(status)) found.unfound.push(path);
  }
  return found;
}
