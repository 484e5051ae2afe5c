import { field, items, type Json } from '../../lib/api-client.ts';
import type { CompanyAnswer, CompanyClient } from './company-client.ts';

/** A list of Google's, read to its end. */
export interface GoogleList {
  entries: Json[];
  /** The last page, which has the tokens for later requests. */
  last: Json;
}

const MOST_PAGES = 50;

/**
 * Reads all pages of a list. A page may be empty although others follow.
 * @param name of the field that has the entries
 * @returns `undefined` if there are more than 50 pages
 * @throws {RefusedError} if Google refuses a page
 */
export async function listOf(
  company: CompanyClient,
  path: string,
  name: string,
  query: Readonly<Record<string, string>>,
): Promise<GoogleList | undefined> {
  const entries: Json[] = [];
  let page: Record<string, string> = {};
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const last = await company.expect('GET', path, { query: { ...query, ...page } });
    entries.push(...items(field(last, name) ?? []));
    const next = field(last, 'nextPageToken');
    if (typeof next !== 'string' || next === '') return { entries, last };
    page = { pageToken: next };
  }
  return undefined;
}

const TOO_FAST: readonly unknown[] = [
  'rateLimitExceeded',
  'userRateLimitExceeded',
  'RATE_LIMIT_EXCEEDED',
  'RESOURCE_EXHAUSTED',
];

/** Whether Google refused a request because of a limit of requests in some time. */
export const isTooFast = ({ status }: CompanyAnswer, word: unknown): boolean =>
  (status === 429 || status === 403) && TOO_FAST.includes(word);
