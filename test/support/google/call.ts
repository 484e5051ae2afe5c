import type { StubAnswer, StubRequest } from '../remote-stub/messages.ts';
import { Router } from '../remote-stub/router.ts';
import type { GoogleUser } from './google-user.ts';
import type { GoogleHabits } from './habits.ts';
import type { GoogleWorld } from './world.ts';

/** Interfaces of Google that the stub has. Each has a quota of its own. */
export type Service = 'gmail' | 'calendar' | 'people' | 'directory' | 'pubsub';

/** A call of a method by an authorized client. */
export interface GoogleCall {
  world: GoogleWorld;
  /** The person for whom the client acts. */
  user: GoogleUser;
  params: Record<string, string>;
  query: URLSearchParams;
  /** The JSON body; empty for none. */
  body: Record<string, unknown>;
  request: StubRequest;
  scopes: ReadonlySet<string>;
}

/** A method of an interface. */
export interface GoogleMethod {
  service: Service;
  /** Units of the service's quota. */
  units: number;
  /** Units in a project from before May 2026, if they differ. */
  oldUnits?: number;
  /** Whether it writes events, which a limit of Calendar use counts. Default: false. */
  isEventWrite?: boolean;
  /** The client needs one of these scopes. */
  needs: readonly string[];
  handle: (call: GoogleCall) => Promise<StubAnswer> | StubAnswer;
}

export type GoogleRouter = Router<GoogleMethod>;

/** 200 with a body. */
export function ok(body: object): StubAnswer {
  return { status: 200, body };
}

/** Answer of methods that return nothing. */
export const NO_CONTENT: StubAnswer = { status: 204 };

/** Most items of a page, see `GoogleHabits.pages`. */
const SHORT_PAGE = 3;

/** Number of items that a page of a listing has. */
export function pageSize(
  query: URLSearchParams,
  name: string,
  usual: number,
  most: number,
): number {
  const wanted = Number(query.get(name) ?? usual);
  return Math.max(1, Math.min(wanted || usual, most));
}

/**
 * One page of a list. The token is the key of the last item of the page before, so that items that
 * come or go between two pages do not move the others.
 * @param keyOf must be different for all items
 * @param pages see `GoogleHabits.pages`
 */
export function page<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  wanted: number,
  token: string | null,
  pages: GoogleHabits['pages'],
): { items: Item[]; nextPageToken?: string } {
  if (pages === 'empty first' && token === null && items.length > 0)
    return { items: [], nextPageToken: 'first' };
  const size = pages === 'short' ? Math.min(wanted, SHORT_PAGE) : wanted;
  const last = token === null ? null : Buffer.from(token, 'base64url').toString();
  const start = last === null ? 0 : items.findIndex((item) => keyOf(item) === last) + 1;
  const found = items.slice(start, start + size);
  const end = found.at(-1);
  const isLast = !end || start + size >= items.length;
  return {
    items: found,
    ...(!isLast && { nextPageToken: Buffer.from(keyOf(end)).toString('base64url') }),
  };
}
