import { columnsOf, idsOf, type Sql } from '../../platform/database/sql.ts';
import { type MirrorOwnerIds, removeMessages } from './remove-messages.ts';

/** A message that is in another folder now. */
export interface TakenMessage {
  id: string;
  threadId: string;
  draft: boolean;
}

/** What the provider's ids of the messages of a folder begin with. */
export interface MessagePrefix {
  from: string;
  to: string;
}

const TAKE_OVER = `
  with taken as (
    insert into message_folder (message_id, folder_id, date)
    select mf.message_id, $2, mf.date from folder f join message_folder mf on mf.folder_id = f.id
    where f.account_id = $1 and f.provider_id = $3 and f.id <> $2
    on conflict do nothing
    returning message_id)
  select m.id, m.thread_id as "threadId", m.draft from taken t join message m on m.id = t.message_id`;

/** Puts the messages of every other folder with a provider's id into this one, too. */
export function takeOver(
  sql: Sql,
  accountId: string,
  folderId: string,
  providerId: string,
): Promise<TakenMessage[]> {
  return sql.query<TakenMessage>(TAKE_OVER, [accountId, folderId, providerId]);
}

// Rows the mirror has made of the same messages under their new ids go; ours have the ids that clients know.
const TWINS = `
  select distinct t.id
  from message t, message m, message_folder mf
  where mf.folder_id = $1 and m.id = mf.message_id and m.account_id = $2 and starts_with(m.provider_id, $3)
    and t.account_id = $2 and t.provider_id = $4 || substr(m.provider_id, length($3) + 1) and t.id <> m.id`;
const RENAME = `
  update message m set provider_id = $4 || substr(m.provider_id, length($3) + 1)
  from message_folder mf
  where mf.folder_id = $1 and m.id = mf.message_id and m.account_id = $2 and starts_with(m.provider_id, $3)`;

/** Stores what the provider calls the messages of a folder after the folder was renamed. */
export async function renameMessages(
  sql: Sql,
  owner: MirrorOwnerIds,
  folderId: string,
  { from, to }: MessagePrefix,
  at: Date,
): Promise<void> {
  if (from === to) return;
  const key = [folderId, owner.accountId, from, to];
  const twins = await sql.query<{ id: string }>(TWINS, key);
  await removeMessages(sql, owner, idsOf(twins), at);
  await sql.query(RENAME, key);
}

const LEAVE = `
  delete from message_folder mf using message m
  where m.id = mf.message_id and m.account_id = $1 and m.id = any($2::uuid[])`;

/** Takes messages out of all folders. */
export async function leaveFolders(sql: Sql, accountId: string, messageIds: readonly string[]) {
  if (messageIds.length > 0) await sql.query(LEAVE, [accountId, messageIds]);
}

/** A message in a folder, as the provider calls it. */
export interface Membership {
  messageId: string;
  folderProviderId: string;
  /** That of the message. */
  date: Date;
}

const ENTER = `
  insert into message_folder (message_id, folder_id, date)
  select x.message_id, f.id, x.date
  from unnest($2::uuid[], $3::text[], $4::timestamptz[]) x(message_id, provider_id, date)
  join folder f on f.account_id = $1 and f.provider_id = x.provider_id
  on conflict do nothing`;

/** Puts messages into folders; folders that the mirror does not have are left out. */
export async function enterFolders(
  sql: Sql,
  accountId: string,
  memberships: readonly Membership[],
) {
  if (memberships.length === 0) return;
  await sql.query(ENTER, [
    accountId,
    ...columnsOf(memberships, 'messageId', 'folderProviderId', 'date'),
  ]);
}

// In two steps: names may have been exchanged.
const MOVE_AWAY = `
  update message m set provider_id = e'\\x01' || m.provider_id
  where m.account_id = $1
    and exists (select 1 from unnest($2::text[]) x(prefix) where starts_with(m.provider_id, x.prefix))`;
const MOVE = `
  update message m set provider_id = x.new_prefix || substr(m.provider_id, length(x.old_prefix) + 2)
  from unnest($2::text[], $3::text[]) x(old_prefix, new_prefix)
  where m.account_id = $1 and starts_with(m.provider_id, e'\\x01' || x.old_prefix)
    and not exists (
      select 1 from message o
      where o.account_id = $1 and o.provider_id = x.new_prefix || substr(m.provider_id, length(x.old_prefix) + 2))`;

/** What the provider's id of a message begins with while the place that it is to move to is taken. */
export const DISPLACED = '\x01';

/**
 * Stores what the provider calls the messages of folders after somebody else has renamed these. An id that another
 * message has already is not given twice: the message keeps its old one, behind `DISPLACED`.
 */
export async function moveMessages(
  sql: Sql,
  accountId: string,
  prefixes: readonly MessagePrefix[],
) {
  const before = prefixes.map(({ from }) => from);
  await sql.query(MOVE_AWAY, [accountId, before]);
  await sql.query(MOVE, [accountId, before, prefixes.map(({ to }) => to)]);
}
