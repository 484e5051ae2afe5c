import { InvalidInputError } from '../base/errors/domain-error.ts';
import { largeAnswer, mayBeLarge } from '../base/large-answers.ts';
import type { Conditions } from './conditions.ts';
import type { Sql } from './sql.ts';

/** Which part of a list is wanted. */
export interface Page {
  /** At most so many items; 0: none. */
  limit: number;
  /** How many to skip. */
  offset: number;
}

/** A part of a list, perhaps as one of the other views: ids, or their number. */
export interface PageOfView extends Page {
  view?: 'ids' | 'count' | undefined;
}

/** What a list endpoint found, in the view that was asked for (api facts 1.4). */
export type Listing<T> =
  { view: 'count'; count: number } | { view: 'ids'; ids: string[] } | { view: 'items'; items: T[] };

/** What to list. The texts are constants of a repository, never input. */
export interface ListingQuery {
  /** Columns of an item, with their property names. */
  columns: string;
  /** Table with its alias, e.g. `event e`. */
  from: string;
  /** Column of the id, e.g. `e.id`. */
  id: string;
  /** Expression for the bytes of what can be long in an item; absent: nothing can. */
  bytes?: string;
  orderBy: string;
  /** Further common table expressions, each made once for the whole page: its ids are in `fitting (id)`. */
  parts?: string;
  /** How items are joined to what `parts` has made. */
  joins?: string;
  /** Where items are read once the ids of the page are known, in the same order. Default: where those were found. */
  items?: Pick<ListingQuery, 'from' | 'id' | 'orderBy'>;
  conditions: Conditions;
  page: Page;
  view?: 'ids' | 'count' | undefined;
  /** See `QueryOptions`. Default: texts of at most two conditions are. */
  prepared?: boolean;
}

/** The most a page may hold: what is longer would take the memory of everybody else's requests. */
export const MAX_PAGE_BYTES = 32 * 1024 * 1024;
/** Longer pages wait until there is room for them, and are read with a statement of their own. */
const LARGE_PAGE_BYTES = 8 * 1024 * 1024;

/** Long items were asked for together; they can be had in smaller pages. */
export class PageTooLargeError extends InvalidInputError {
  constructor() {
    super(
      `Together these are longer than ${MAX_PAGE_BYTES / 1024 / 1024} MB: ask for fewer at a time`,
    );
  }
}

/**
 * Runs a list query; `count` ignores the page.
 * @throws {PageTooLargeError} for more than one item of together more than `MAX_PAGE_BYTES`
 */
export async function runListing<T extends object>(
  sql: Sql,
  query: ListingQuery,
): Promise<Listing<T>> {
  const { from, id, orderBy, conditions, page, view } = query;
  const where = `from ${from} where ${conditions.text}`;
  // Nothing but the account and perhaps one filter is the usual case; texts with more are too many to be kept by
  // every connection.
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
    if (leftOut(rows, MAX_PAGE_BYTES) > 0) throw new PageTooLargeError();
  }
  return { view: 'items', items: rows[0]?.itemId === null ? [] : rows };
}

/**
 * Reads a page of items when there is room for it in memory.
 * @param bytes of all of them together
 * @throws {PageTooLargeError} for more than one item of together more than `MAX_PAGE_BYTES`, or more than 8 MB where the answer
 *   has to stay small (`keepSmall`)
 */
export async function admitPage<T>(
  items: number,
  bytes: number,
  read: () => Promise<T>,
): Promise<T> {
  if (items > 1 && bytes > (mayBeLarge() ? MAX_PAGE_BYTES : LARGE_PAGE_BYTES))
    throw new PageTooLargeError();
  return bytes > LARGE_PAGE_BYTES ? largeAnswer(bytes, read) : read();
}

interface Measured {
  pageBytes: number;
  /** Null in the one row of a page that is empty or too large. */
  itemId: string | null;
}

/** How long a page is that was measured and not read, because it is longer than `most`; 0: it was read. */
function leftOut([first]: readonly Measured[], most: number): number {
  return first && first.itemId === null && first.pageBytes > most ? first.pageBytes : 0;
}

/**
 * The page is chosen first: subqueries in `columns` and `bytes` then never run for rows that are skipped. It is
 * measured before it is read, in the same statement.
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

/** The answer of a list endpoint: views of the items, ids, or `{count}`. */
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
