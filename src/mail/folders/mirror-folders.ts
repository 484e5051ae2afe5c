import { columnsOf, idsOf, type Sql } from '../../platform/database/sql.ts';
import type { Folder } from './folder.entity.ts';
import type { RowOf, NotNull } from '../../platform/database/rows/row-of.ts';

/* SQL with which a sync pass writes folders and labels, in its own transaction. */

export type MirroredFolder = RowOf<Folder, 'id' | 'providerId' | 'name' | 'displayName'>;

const READ = `
  select id, provider_id as "providerId", name, display_name as "displayName" from folder where account_id = $1`;

/** All folders of an account, including those that are being deleted. */
export function mirroredFolders(sql: Sql, accountId: string): Promise<MirroredFolder[]> {
  return sql.query<MirroredFolder>(READ, [accountId]);
}

// Renames in two steps, because two folders may have swapped names.
const RENAME_AWAY = `
  update folder set provider_id = e'\\x01' || provider_id where account_id = $1 and provider_id = any($2::text[])`;
const RENAME = `
  update folder f set provider_id = x.new_id, updated_at = $4
  from unnest($2::text[], $3::text[]) x(old_id, new_id)
  where f.account_id = $1 and f.provider_id = e'\\x01' || x.old_id
    and not exists (select 1 from folder o where o.account_id = $1 and o.provider_id = x.new_id)`;

/** Stores new provider ids of folders that were renamed outside this server. */
export async function renameFolders(
  sql: Sql,
  accountId: string,
  renamed: readonly { from: string; to: string }[],
  at: Date,
): Promise<void> {
  const before = renamed.map(({ from }) => from);
  await sql.query(RENAME_AWAY, [accountId, before]);
  await sql.query(RENAME, [accountId, before, renamed.map(({ to }) => to), at]);
}

const WRITE = `
  insert into folder (id, account_id, provider_id, name, display_name, created_at, updated_at)
  select x.id, $1, x.provider_id, x.name, x.display_name, $6, $6
  from unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) x(id, provider_id, name, display_name)
  on conflict (id) do update
    set provider_id = excluded.provider_id, name = excluded.name, display_name = excluded.display_name,
        updated_at = excluded.updated_at`;

/** Writes folders in the provider's current state: inserts new ones and updates the others. */
export async function writeFolders(
  sql: Sql,
  accountId: string,
  folders: readonly MirroredFolder[],
  at: Date,
): Promise<void> {
  await sql.query(WRITE, [
    accountId,
    ...columnsOf(folders, 'id', 'providerId', 'name', 'displayName'),
    at,
  ]);
}

/** Deletes folders that the provider no longer has. */
export async function deleteFolders(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<void> {
  await sql.query('delete from folder where account_id = $1 and id = any($2::uuid[])', [
    accountId,
    ids,
  ]);
}

const DELETE_EMPTY = `
  delete from folder f
  where f.account_id = $1 and f.provider_id = any($2::text[])
    and not exists (select 1 from message_folder mf where mf.folder_id = f.id)
  returning f.id`;

/** Deletes those of the folders that have no messages. @returns our ids of the deleted folders */
export async function deleteEmptyFolders(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
): Promise<string[]> {
  if (providerIds.length === 0) return [];
  return idsOf(await sql.query<{ id: string }>(DELETE_EMPTY, [accountId, providerIds]));
}

const IDS = `
  select id, provider_id as "providerId" from folder where account_id = $1 and provider_id = any($2::text[])`;

/** Maps provider ids of folders to our ids. Unknown provider ids are left out. */
export async function folderIds(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await sql.query<RowOf<Folder, 'id'> & NotNull<RowOf<Folder, 'providerId'>>>(IDS, [
    accountId,
    providerIds,
  ]);
  return new Map(rows.map(({ id, providerId }) => [providerId, id]));
}
