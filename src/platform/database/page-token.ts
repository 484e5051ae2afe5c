import { InvalidInputError } from '../base/errors/domain-error.ts';
import { isId } from '../base/ids/ids.ts';

/** Default and maximum number of items on a page of an operator's list. */
export const DEFAULT_PAGE_ITEMS = 50;
export const MOST_PAGE_ITEMS = 200;

/** Which page of a list to read. */
export interface TokenPage {
  /** Maximum number of items; default: 50, at most 200. */
  limit?: number | undefined;
  /** `nextPageToken` of the page before; absent for the first page. */
  pageToken?: string | undefined;
}

/** One page of a list. */
export interface PageOf<T> {
  items: T[];
  /** Token of the next page; `null` on the last page. */
  nextPageToken: string | null;
}

/** A value by which a list is ordered. Instants are ISO 8601 texts. */
export type PageKey = string | number | null;

const LONGEST_TOKEN = 1_000;

/** Encodes where the next page begins. Clients must not look into it. */
export function pageToken(...keys: readonly PageKey[]): string {
  return Buffer.from(JSON.stringify(keys)).toString('base64url');
}

/**
 * Decodes a token of `pageToken`.
 * @param kinds what each key is; an `id` is one of `newId`
 * @returns `null` for the first page, that is if there is no token
 * @throws {InvalidInputError} if the token does not have these keys
 */
export function readPageToken(
  token: string | undefined,
  kinds: readonly ('id' | 'number')[],
): PageKey[] | null {
  if (token === undefined) return null;
  const keys = token.length > LONGEST_TOKEN ? null : parsed(token);
  const fits =
    keys?.length === kinds.length &&
    keys.every((key, index) => key === null || isOfKind(key, kinds[index]));
  if (!fits)
    throw new InvalidInputError(
      'page_token: is not a token of this list; send next_page_token of the page before, with the same filters',
    );
  return keys;
}

function isOfKind(key: string | number, kind: 'id' | 'number' | undefined): boolean {
  return kind === 'id' ? typeof key === 'string' && isId(key) : typeof key === kind;
}

function parsed(token: string): PageKey[] | null {
  try {
    const keys: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    return Array.isArray(keys) ? (keys as PageKey[]) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Number of items of a page, within the limits. */
export function itemsOf({ limit = DEFAULT_PAGE_ITEMS }: TokenPage): number {
  return Math.min(Math.max(limit, 1), MOST_PAGE_ITEMS);
}

/**
 * Cuts a list that was read with one item more than the page has.
 * @param tokenOf token of the page that begins after this item
 */
export function pageOf<T>(
  rows: readonly T[],
  items: number,
  tokenOf: (last: T) => string,
): PageOf<T> {
  const shown = rows.slice(0, items);
  const last = shown.at(-1);
  return { items: shown, nextPageToken: rows.length > items && last ? tokenOf(last) : null };
}
