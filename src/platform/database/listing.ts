import { InvalidInputError } from '../base/errors/domain-error.ts';
import { largeResponse, mayBeLarge } from '../base/large-responses.ts';
import type { Conditions } from './conditions.ts';
import type { QueryOptions, Sql } from './sql.ts';

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
  | { view: 'count'; count: number }
  | { view: 'ids'; ids: string[] }
  | { view: 'items'; items: T[] };

/** Where the items of a page are read. */
interface ItemsSource {
  /** Table with its alias, for example `message m`. */
  from: string;
  /** Joins of further tables to it that have one row for each item at most. Default: none. */
  with?: string;
  /** Column of the id, for example `m.id`. */
  id: string;
  orderBy: string;
  /**
   * The fields that `columns`, `joins` and `orderBy` use. There they all have the alias of the id.
   * Default: all columns of the id's table.
   */
  fields?: string;
}

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
   * Where to read items once the ids of the page are known, in the same order. Default: the table
   * in which the ids were found.
   */
  items?: ItemsSource;
  /** Left joins of further tables for `columns` to the items of the page. */
  joins?: string;
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
export const LARGE_PAGE_BYTES = 8 * 1024 * 1024;

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
  const { from, conditions, page, view } = query;
  const where = `from ${from} where ${conditions.text}`;
  // Most requests have only the account and perhaps one filter as conditions. There are too many
  // texts with more conditions for every connection to keep them.
  const { prepared = conditions.count <= 2 } = query;
  if (view === 'count') {
    const text = `select count(*)::int as count ${where}`;
    const [row] = await sql.query<{ count: number }>(text, conditions.values, { prepared });
    return { view, count: row?.count ?? 0 };
  }
  const most = PREPARED_ITEMS.find((items) => page.offset + page.limit <= items);
  const options = { prepared: prepared && most !== undefined };
  const limit = `limit ${conditions.value(page.limit)} offset ${conditions.value(page.offset)}`;
  const pageOf: PageText = (what) => {
    const ordered = `select ${what} ${where} order by ${query.orderBy}`;
    // PostgreSQL keeps the order of a subquery with a limit.
    return options.prepared
      ? `select * from (${ordered} limit ${most}) listed ${limit}`
      : `${ordered} ${limit}`;
  };
  const ids = pageOf(`${query.id} as id`);
  if (view === 'ids') {
    const rows = await sql.query<{ id: string }>(ids, conditions.values, options);
    return { view, ids: rows.map((row) => row.id) };
  }
  const items =
    options.prepared && most === SHORT_PAGE
      ? await readShortItems<T>(sql, query, pageOf)
      : await readItems<T>(sql, query, ids, options);
  return { view: 'items', items };
}

/** Most items of a page, skipped ones included, that is not measured before it is read. */
const SHORT_PAGE = 16;
/** Most items of a page, skipped ones included, whose statement is prepared. */
const PREPARED_ITEMS = [SHORT_PAGE, 128, 1_024];

/**
 * Returns the statement for a page, in order, with a select list. PostgreSQL keeps the plan of a
 * prepared statement only if it expects no better one for the values, and it takes a limit that it
 * does not know for a tenth of all rows. So a prepared statement also has a limit in its text.
 */
type PageText = (selectList: string) => string;

const aliasOf = (id: string): string => id.split('.', 1)[0] ?? id;

/**
 * Reads the items of a page of few items. Most items are so short that the page cannot be too long.
 * A longer one is not read but reported, and then the page is measured. Measuring would take a
 * fifth of the time of a page of ten messages.
 *
 * `offset 0` keeps the lateral subquery apart, so that PostgreSQL runs it for one row of the page
 * after the other, in their order. Sorting the items would take 16 of 170 µs for ten events, and
 * looking each up again by its id another 12.
 */
async function readShortItems<T extends object>(
  sql: Sql,
  query: ListingQuery,
  pageOf: PageText,
): Promise<T[]> {
  const { bytes, columns, conditions, joins = '', page } = query;
  const ids = () => pageOf(`${query.id} as id`);
  if (bytes === undefined || page.limit === 0) return readItems(sql, query, ids(), {});
  const { from, with: more = '', id, fields }: ItemsSource = query.items ?? query;
  const row = aliasOf(id);
  // If the page was found in the table of the items, its rows are the items.
  const [rows, source] =
    from === query.from
      ? [pageOf(`${row}.*`), `(select page.*) ${row} ${more} where`]
      : [ids(), `${from} ${more} where ${id} = page.id and`];
  const items = await sql.query<T & { isLong: false | null }>(
    `select item.* from (${rows}) page left join lateral (
       select ${columns}, false as "isLong" from (
         select ${fields ?? `${row}.*`} from ${source} coalesce(${bytes}, 0) <= ${LARGE_PAGE_BYTES / SHORT_PAGE}) ${row} ${joins}
       offset 0) item on true`,
    conditions.values,
  );
  return items.some(({ isLong }) => isLong === null) ? readItems(sql, query, ids(), {}) : items;
}

/** Reads the items of a page. A page that is too long is only measured at first. */
async function readItems<T extends object>(
  sql: Sql,
  query: ListingQuery,
  ids: string,
  options: QueryOptions,
): Promise<T[]> {
  const { conditions, page } = query;
  if (page.limit === 0) return [];
  const read = (most: number) =>
    sql.query<T & Measured>(itemsText(query, ids, most), conditions.values, options);
  const items = await read(LARGE_PAGE_BYTES);
  const tooLong = items[0]?.tooLong;
  if (!tooLong) return items;
  const long = await admitPage(tooLong.items, tooLong.bytes, () => read(MAX_PAGE_BYTES));
  if (long[0]?.tooLong) throw new PageTooLargeError(MAX_PAGE_BYTES);
  return long;
}

/** What each item of a page reports, if the query has `bytes`. */
interface Measured {
  /** The size of a page that is too long: then only one of its items was read. */
  tooLong?: { items: number; bytes: number } | null;
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

/**
 * Chooses the page first, so that subqueries in `columns` and `bytes` never run for skipped rows.
 * Then it measures the page, and reads the page if it has at most `most` bytes or only one item.
 * Otherwise it reads one item, which reports the size of the page.
 */
function itemsText(query: ListingQuery, ids: string, most: number): string {
  const { columns, bytes, joins = '' } = query;
  const { from, with: more = '', id, orderBy, fields }: ItemsSource = query.items ?? query;
  const row = aliasOf(id);
  const read = (measured: string) => `
    select ${fields ?? `${row}.*`}${measured} from ${from} ${more} join (${ids}) page on page.id = ${id}`;
  if (bytes === undefined)
    return `select ${columns} from (${read('')}) ${row} ${joins} order by ${orderBy}`;
  const measures = `,
    coalesce(sum((${bytes})::float8) over (), 0) as page_bytes, count(*) over () as page_items, row_number() over () as page_row`;
  const isWhole = `(${row}.page_bytes <= ${most} or ${row}.page_items = 1)`;
  return `
    select ${columns}, case when not ${isWhole} then
      json_build_object('items', ${row}.page_items, 'bytes', ${row}.page_bytes) end as "tooLong"
    from (${read(measures)}) ${row} ${joins}
    where ${isWhole} or ${row}.page_row = 1
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
