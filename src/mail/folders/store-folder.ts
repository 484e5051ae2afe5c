import type { Sql } from '../../platform/database/sql.ts';
import type { Folder } from './folder.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/*
 * SQL with which provider writes read and update folders and labels, in the caller's transaction.
 */

/** The fields of a folder that a provider write needs. */
export type StoredFolder = RowOf<Folder, 'providerId' | 'displayName'>;

const READ = `
  select provider_id as "providerId", display_name as "displayName" from folder
  where account_id = $1 and id = $2 and ($3 or not deleting)`;

/**
 * Reads a folder; `undefined` if there is none.
 * @param deleting true to also find a folder that is being deleted
 */
export async function readFolder(
  sql: Sql,
  accountId: string,
  id: string,
  { deleting }: { deleting: boolean },
): Promise<StoredFolder | undefined> {
  return (await sql.query<StoredFolder>(READ, [accountId, id, deleting]))[0];
}

const DELETE_DUPLICATES = `
  delete from folder where account_id = $1 and provider_id = $3 and id <> $2 and name is null returning id`;
// If a standard folder already has that provider id, it is the right row, and nothing is stored
// here.
const STORE = `
  update folder set provider_id = $3 where id = $2 and account_id = $1
    and not exists (select 1 from folder where account_id = $1 and provider_id = $3 and id <> $2)`;

/**
 * Stores the provider's id of a folder. If a sync pass has meanwhile inserted another row with that
 * provider id, that row is deleted.
 * @returns ids of the deleted rows
 */
export async function storeProviderId(
  sql: Sql,
  accountId: string,
  id: string,
  providerId: string,
): Promise<string[]> {
  const duplicates = await idsOf(sql, DELETE_DUPLICATES, [accountId, id, providerId]);
  await sql.query(STORE, [accountId, id, providerId]);
  return duplicates;
}

/** Deletes the hidden row of a folder that was deleted here and is now deleted at the provider. */
export async function deleteHidden(sql: Sql, accountId: string, id: string): Promise<void> {
  await sql.query('delete from folder where account_id = $1 and id = $2 and deleting', [
    accountId,
    id,
  ]);
}

const DELETE_UNCREATED = `
  delete from folder where account_id = $1 and id = $2 and provider_id is null returning id`;

/**
 * Deletes a folder that is not at the provider.
 * @returns its id, or an empty list if there is no such folder
 */
export function deleteUncreated(sql: Sql, accountId: string, id: string): Promise<string[]> {
  return idsOf(sql, DELETE_UNCREATED, [accountId, id]);
}

// A folder that was given another name meanwhile keeps that name.
const RENAME_BACK = `
  update folder f set display_name = $4 || substr(f.display_name, length($3) + 1), updated_at = $5
  from folder old
  where old.account_id = $1 and old.id = $2 and old.display_name = $3
    and f.account_id = $1 and f.name is null and (f.id = old.id or starts_with(f.display_name, $3 || '/'))
  returning f.id`;

/**
 * Gives a folder and those below it their previous names, unless the folder was renamed again
 * since.
 * @returns ids of the folders whose names have changed
 */
export function renameBack(
  sql: Sql,
  accountId: string,
  id: string,
  { from, to }: { from: string; to: string },
  at: Date,
): Promise<string[]> {
  return idsOf(sql, RENAME_BACK, [accountId, id, from, to, at]);
}

const SHOW = `
  update folder set deleting = false, updated_at = $3 where account_id = $1 and id = $2 and deleting returning id`;

/**
 * Shows a folder again that was hidden for deletion.
 * @returns its id, or an empty list if it was not hidden
 */
export function showAgain(sql: Sql, accountId: string, id: string, at: Date): Promise<string[]> {
  return idsOf(sql, SHOW, [accountId, id, at]);
}

async function idsOf(sql: Sql, text: string, values: readonly unknown[]): Promise<string[]> {
  return (await sql.query<{ id: string }>(text, [...values])).map(({ id }) => id);
}
