import type { Page } from '../common/http/pagination.schema.ts';
import type { Conditions } from './conditions.ts';
import type { Sql } from './sql.ts';

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
  orderBy: string;
  conditions: Conditions;
  page: Page;
  view?: 'ids' | 'count' | undefined;
}

/** Runs a list query; `count` ignores the page. */
export async function runListing<T extends object>(sql: Sql, query: ListingQuery): Promise<Listing<T>> {
  const { columns, from, id, orderBy, conditions, page, view } = query;
  const where = `from ${from} where ${conditions.text}`;
  // Nothing but the account and perhaps one filter is the usual case; texts with more are too many to be kept by
  // every connection.
  const options = { prepared: conditions.count <= 2 };
  if (view === 'count') {
    const text = `select count(*)::int as count ${where}`;
    const [row] = await sql.query<{ count: number }>(text, conditions.values, options);
    return { view, count: row?.count ?? 0 };
  }
  const paged = `${where} order by ${orderBy} limit ${conditions.value(page.limit)} offset ${conditions.value(page.offset)}`;
  const ids = `select ${id} as id ${paged}`;
  if (view === 'ids') {
    const rows = await sql.query<{ id: string }>(ids, conditions.values, options);
    return { view, ids: rows.map((row) => row.id) };
  }
  // The page is chosen first: subqueries in `columns` then never run for rows that are skipped.
  const text = `with page as materialized (${ids}) select ${columns} from ${from}, page where ${id} = page.id order by ${orderBy}`;
  return { view: 'items', items: await sql.query<T>(text, conditions.values, options) };
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
