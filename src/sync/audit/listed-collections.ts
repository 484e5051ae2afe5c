import type { RowOf } from '../../platform/database/rows/row-of.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { AuditedCollection } from './audited-collection.entity.ts';

/* What audits have seen of calendars and address books at the provider (ADR 0160). */

/** The address book, where the ids of calendars name the other collections. */
export const CONTACTS = 'contacts';

/** A calendar or the address book of an account. */
export interface CollectionKey {
  accountId: string;
  /** Id of a calendar, or `CONTACTS`. */
  collection: string;
}

const NOTE = `
  insert into audited_collection (account_id, collection, listed) values ($1, $2, $3)
  on conflict (account_id, collection) do update set listed = excluded.listed`;

/** Notes the provider ids of a listing whose other pages follow. */
export async function noteListing(
  sql: Sql,
  { accountId, collection }: CollectionKey,
  providerIds: readonly string[],
): Promise<void> {
  await sql.query(NOTE, [accountId, collection, providerIds]);
}

/** The provider ids that `noteListing` has noted; `null` if it has noted none. */
export async function notedListing(
  sql: Sql,
  { accountId, collection }: CollectionKey,
): Promise<readonly string[] | null> {
  const [row] = await sql.query<RowOf<AuditedCollection, 'listed'>>(
    'select listed from audited_collection where account_id = $1 and collection = $2',
    [accountId, collection],
  );
  return row?.listed ?? null;
}

/** The objects of a complete listing. */
export interface ListedObjects {
  /** Ids of the stored ones. */
  ids: readonly string[];
  /** How many are not stored. */
  unstored: number;
}

// Ids that have not changed keep their stored value, so that PostgreSQL does not write it again.
const RECORD = `
  insert into audited_collection as a (account_id, collection, object_ids, unstored, audited_at)
  values ($1, $2, $3, $4, $5)
  on conflict (account_id, collection) do update
    set object_ids = case when a.object_ids = excluded.object_ids then a.object_ids else excluded.object_ids end,
      unstored = excluded.unstored, audited_at = excluded.audited_at, listed = null`;

/**
 * Records the objects of a complete listing, once all its pages are stored.
 * @param beganAt when the listing began
 */
export async function recordListing(
  sql: Sql,
  { accountId, collection }: CollectionKey,
  { ids, unstored }: ListedObjects,
  beganAt: Date,
): Promise<void> {
  await sql.query(RECORD, [accountId, collection, ids, unstored, beganAt]);
}

/** The collections that have a listing and are none of these: they do not exist any more. */
export async function endedCollections(
  sql: Sql,
  accountId: string,
  collections: readonly string[],
): Promise<string[]> {
  const rows = await sql.query<RowOf<AuditedCollection, 'collection'>>(
    'select collection from audited_collection where account_id = $1 and collection <> all($2::text[])',
    [accountId, collections],
  );
  return rows.map(({ collection }) => collection);
}

/** Forgets the listings of these collections. */
export async function forgetListings(
  sql: Sql,
  accountId: string,
  collections: readonly string[],
): Promise<void> {
  await sql.query(
    'delete from audited_collection where account_id = $1 and collection = any($2::text[])',
    [accountId, collections],
  );
}
