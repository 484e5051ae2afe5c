import { InvalidInputError } from '../base/errors/domain-error.ts';
import { largeResponse, mayBeLarge } from '../base/large-responses.ts';
import type { Conditions } from './conditions.ts';
import type { Sql } from './sql.ts';

/** Which part of a list to return. */
export interface Page {
  /** Maximum number of items; 0 returns none. */
  limit: number;
  /** How many items to skip. */
  offset: number;
}

/** A part of a list, optionally as only the ids of its items or only the number of all items. */
export interface PageOfView extends Page {
  view?: 'ids' | 'count' | undefined;
}

/** What a list endpoint found, in the requested view. */
export type Listing<T> =
  { view: 'count'; count: number } | { view: 'ids'; ids: string[] } | { view: 'items'; items: T[] };

/** What to list. The SQL texts are constants of a repository, never input. */
export interface ListingQuery {
  /** Columns of an item, with their property names. */
  columns: string;
  /** Table with its alias, for example `event e`. */
  from: string;
  /** Column of the id, for example `e.id`. */
  id: string;
  /** Expression for the bytes of the long parts of an item. Absent: items have no long parts. */
  bytes?: string;
  orderBy: string;
  /**
   * Further common table expressions, each computed once for the whole page. They find the ids of
   * the page in `fitting (id)`.
   */
  parts?: string;
  /** How items are joined to the expressions in `parts`. */
  joins?: string;
  /**
   * Where to read items once the ids of the page are known, in the same order. Default: the table
   * in which the ids were found.
   */
  items?: Pick<ListingQuery, 'from' | 'id' | 'orderBy'>;
  conditions: Conditions;
  page: Page;
  view?: 'ids' | 'count' | undefined;
  /** See `QueryOptions`. Default: texts with at most two conditions are prepared. */
  prepared?: boolean;
}

/** Maximum size of a page. A longer one would take the memory of other requests. */
export const MAX_PAGE_BYTES = 32 * 1024 * 1024;
/**
 * A page longer than this waits until memory is free for it, and is then read by a second
 * statement.
 */
const LARGE_PAGE_BYTES = 8 * 1024 * 1024;

/** The requested items are too long together. The client can request them in smaller pages. */
export class PageTooLargeError extends InvalidInputError {
  /** @param most maximum size of this page in bytes */
  constructor(most: number) {
    super(
      `The requested items are longer than ${most / 1024 / 1024} MB together: request fewer at a time`,
    );
  }
}

/**
 * Runs a list query. The view `count` ignores the page.
 * @throws {PageTooLargeError} if the page has several items that are together longer than
 *   `MAX_PAGE_BYTES`
 */
export async function runListing<T extends object>(
  sql: Sql,
  query: ListingQuery,
): Promise<Listing<T>> {
  const { from, id, orderBy, conditions, page, view } = query;
  const where = `from ${from} where ${conditions.text}`;
  // Most requests have only the account and perhaps one filter as conditions. There are too many
  // texts with more conditions for every connection to keep them.
  const options = { prepared: query.prepared ?? conditions.count <= 2 };
  if (view === 'count') {
    const text = `select count(*)::int as count ${where}`;
    const [row] = await sql.query<{ count: number }>(text, conditions.values, options);
    return { view, count: row?.count ?? 0 };
  }
  const paged = `${where} order by ${orderBy} limit ${conditions.value(page.limit)} offset ${conditions.value(page.offset)}`;
  if (view === 'ids') {
    const text = `select ${id} as id ${paged}`;
    const rows = await sql.query<{ id: string }>(text, conditions.values, options);
    return { view, ids: rows.map((row) => row.id) };
  }
  const read = (most: number) =>
    sql.query<T & Measured>(itemsText(query, paged, most), conditions.values, options);
  let rows = await read(LARGE_PAGE_BYTES);
  const left = leftOut(rows, LARGE_PAGE_BYTES);
  if (left > 0) {
    // A single item is never left out.
    rows = await admitPage(2, left, () => read(MAX_PAGE_BYTES));
    if (leftOut(rows, MAX_PAGE_BYTES) > 0) throw new PageTooLargeError(MAX_PAGE_BYTES);
  }
  return { view: 'items', items: rows[0]?.itemId === null ? [] : rows };
}

/**
 * Reads a page of items as soon as memory is free for it.
 * @param bytes size of all items together
 * @throws {PageTooLargeError} if several items are together longer than `MAX_PAGE_BYTES`, or
 *   longer than 8 MB for a response that has to stay small (`keepSmall`)
 */
export async function admitPage<T>(
  items: number,
  bytes: number,
  read: () => Promise<T>,
): Promise<T> {
  const most = mayBeLarge() ? MAX_PAGE_BYTES : LARGE_PAGE_BYTES;
  if (items > 1 && bytes > most) throw new PageTooLargeError(most);
  return bytes > LARGE_PAGE_BYTES ? largeResponse(bytes, read) : read();
}

interface Measured {
  pageBytes: number;
  /** `null` in the single row of a page that is empty or too large. */
  itemId: string | null;
}

/** Size of a page that was only measured, because it is longer than `most`; 0 if it was read. */
function leftOut([first]: readonly Measured[], most: number): number {
  return first && first.itemId === null && first.pageBytes > most ? first.pageBytes : 0;
}

/**
 * Chooses the page first, so that subqueries in `columns` and `bytes` never run for skipped rows.
 * Then it measures the page and reads it if it fits, in the same statement.
 */
function itemsText(
  { columns, bytes = '0', items, parts, joins = '', ...query }: ListingQuery,
  paged: string,
  most: number,
): string {
  const { from, id, orderBy } = items ?? query;
  return `
    with page as materialized (select ${query.id} as id ${paged}),
    size as materialized (
      select coalesce(sum((${bytes})::bigint), 0)::float8 as total, count(*) as items
      from ${from} join page on ${id} = page.id),
    fitting as materialized (
      select page.id from page cross join size where size.total <= ${most} or size.items = 1)
    ${parts === undefined ? '' : `, ${parts}`}
    select size.total as "pageBytes", fitting.id as "itemId", ${columns}
    from size left join (${from} join fitting on ${id} = fitting.id ${joins}) on true
    order by ${orderBy}`;
}

/** The response body of a list endpoint: views of the items, ids, or `{count}`. */
export function toListView<T, V>(listing: Listing<T>, toView: (item: T) => V) {
  switch (listing.view) {
    case 'count':
      return { count: listing.count };
    case 'ids':
      return listing.ids;
    case 'items':
      return listing.items.map(toView);
  }
}
