import type { Sql } from '../../platform/database/sql.ts';

/* Rows of folders and labels as the jobs that carry changes to the provider need them; each in the caller's transaction. */

/** What a job needs to know of a folder. */
export interface StoredFolder {
  /** Null: it is not at the provider yet. */
  providerId: string | null;
  displayName: string;
}

const READ = `
  select provider_id as "providerId", display_name as "displayName" from folder
  where account_id = $1 and id = $2 and ($3 or not deleting)`;

/** @param deleting whether one that is being deleted is found, too */
export async function readFolder(
  sql: Sql,
  accountId: string,
  id: string,
  { deleting }: { deleting: boolean },
): Promise<StoredFolder | undefined> {
  return (await sql.query<StoredFolder>(READ, [accountId, id, deleting]))[0];
}

const DELETE_TWINS = `
  delete from folder where account_id = $1 and provider_id = $3 and id <> $2 and name is null returning id`;
// A standard folder of that name was there already, and is the one.
const STORE = `
  update folder set provider_id = $3 where id = $2 and account_id = $1
    and not exists (select 1 from folder where account_id = $1 and provider_id = $3 and id <> $2)`;

/**
 * Stores what the provider calls a folder. Another row with that id, which the mirror has made meanwhile, is deleted.
 * @returns ids of the deleted rows
 */
export async function storeProviderId(
  sql: Sql,
  accountId: string,
  id: string,
  providerId: string,
): Promise<string[]> {
  const twins = await idsOf(sql, DELETE_TWINS, [accountId, id, providerId]);
  await sql.query(STORE, [accountId, id, providerId]);
  return twins;
}

/** Deletes a folder that was deleted here before. */
export async function deleteHidden(sql: Sql, accountId: string, id: string): Promise<void> {
  await sql.query('delete from folder where account_id = $1 and id = $2 and deleting', [
    accountId,
    id,
  ]);
}

const DELETE_UNCREATED = `
  delete from folder where account_id = $1 and id = $2 and provider_id is null returning id`;

/** Deletes a folder that is not at the provider. @returns its id, if there was one */
export function deleteUncreated(sql: Sql, accountId: string, id: string): Promise<string[]> {
  return idsOf(sql, DELETE_UNCREATED, [accountId, id]);
}

// Names that have been given to others meanwhile stay theirs.
const RENAME_BACK = `
  update folder f set display_name = $4 || substr(f.display_name, length($3) + 1), updated_at = $5
  from folder old
  where old.account_id = $1 and old.id = $2 and old.display_name = $3
    and f.account_id = $1 and f.name is null and (f.id = old.id or starts_with(f.display_name, $3 || '/'))
  returning f.id`;

/**
 * Gives a folder and those below it their old name again, unless it has been renamed since.
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

/** Shows a folder again that was deleted here. @returns its id, if it was */
export function showAgain(sql: Sql, accountId: string, id: string, at: Date): Promise<string[]> {
  return idsOf(sql, SHOW, [accountId, id, at]);
}

async function idsOf(sql: Sql, text: string, values: readonly unknown[]): Promise<string[]> {
  return (await sql.query<{ id: string }>(text, [...values])).map(({ id }) => id);
}
