import type { FilledTable } from '../../../platform/account-fills/fill-account.ts';
import type { MessagePrefix } from '../../../providers/port/connector.ts';
import { columnsOf, idsOf, type Sql } from '../../../platform/database/sql.ts';
import { type MirrorOwnerIds, removeMessages } from './remove-messages.ts';
import type { Folder } from '../../folders/folder.entity.ts';
import type { Message } from '../message.entity.ts';
import type { MessageFolder } from '../message-folder.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/** Where the account of a message in a folder is found (`account-fills.ts`). */
export const ACCOUNT_OF_MEMBERSHIPS: FilledTable = {
  table: 'message_folder',
  key: { message_id: 'uuid', folder_id: 'uuid' },
  parent: 'message',
  reference: 'message_id',
};

/** A message that was added to a folder. */
export type TakenMessage = RowOf<Folder, 'id'> & RowOf<Message, 'threadId' | 'draft'>;

const ADD_FROM_DUPLICATE = `
  with taken as (
    insert into message_folder (message_id, folder_id, date, account_id)
    select mf.message_id, $2, mf.date, $1 from folder f join message_folder mf on mf.folder_id = f.id
    where f.account_id = $1 and f.provider_id = $3 and f.id <> $2
    on conflict do nothing
    returning message_id)
  select m.id, m.thread_id as "threadId", m.draft from taken t join message m on m.id = t.message_id`;

/**
 * Adds the messages of a duplicate folder row to a folder.
 * @param providerId provider id of the duplicate row
 * @returns the messages that were added
 */
export function addMessagesOfDuplicate(
  sql: Sql,
  accountId: string,
  folderId: string,
  providerId: string,
): Promise<TakenMessage[]> {
  return sql.query<TakenMessage>(ADD_FROM_DUPLICATE, [accountId, folderId, providerId]);
}

// A sync pass may have inserted rows for the same messages under their new ids. Those rows are
// deleted, because clients know the ids of our rows.
const DUPLICATES = `
  select distinct t.id
  from message t, message m, message_folder mf
  where mf.folder_id = $1 and m.id = mf.message_id and m.account_id = $2 and starts_with(m.provider_id, $3)
    and t.account_id = $2 and t.provider_id = $4 || substr(m.provider_id, length($3) + 1) and t.id <> m.id`;
const RENAME = `
  update message m set provider_id = $4 || substr(m.provider_id, length($3) + 1)
  from message_folder mf
  where mf.folder_id = $1 and m.id = mf.message_id and m.account_id = $2 and starts_with(m.provider_id, $3)`;

/** Stores the new provider ids of a folder's messages after we have renamed the folder. */
export async function renameMessages(
  sql: Sql,
  owner: MirrorOwnerIds,
  folderId: string,
  { from, to }: MessagePrefix,
  at: Date,
): Promise<void> {
  if (from === to) return;
  const key = [folderId, owner.accountId, from, to];
  const duplicates = await sql.query<{ id: string }>(DUPLICATES, key);
  await removeMessages(sql, owner, idsOf(duplicates), at);
  await sql.query(RENAME, key);
}

const LEAVE = `
  delete from message_folder mf using message m
  where m.id = mf.message_id and m.account_id = $1 and m.id = any($2::uuid[])`;

/** Removes messages from all folders. */
export async function leaveFolders(sql: Sql, accountId: string, messageIds: readonly string[]) {
  if (messageIds.length > 0) await sql.query(LEAVE, [accountId, messageIds]);
}

/** A message in a folder. The folder is named by its provider id. */
export interface Membership {
  messageId: string;
  folderProviderId: string;
  /** Date of the message. */
  date: Date;
}

const ENTER = `
  insert into message_folder (message_id, folder_id, date, account_id)
  select x.message_id, f.id, x.date, $1
  from unnest($2::uuid[], $3::text[], $4::timestamptz[]) x(message_id, provider_id, date)
  join folder f on f.account_id = $1 and f.provider_id = x.provider_id
  on conflict do nothing
  returning message_id as "messageId", folder_id as "folderId"`;

/**
 * Adds messages to folders. Folders that are not in the mirror are left out.
 * @returns ids of the folders to which each message was added
 */
export async function enterFolders(
  sql: Sql,
  accountId: string,
  memberships: readonly Membership[],
): Promise<Map<string, string[]>> {
  const entered = new Map<string, string[]>();
  if (memberships.length === 0) return entered;
  const rows = await sql.query<RowOf<MessageFolder, 'messageId' | 'folderId'>>(ENTER, [
    accountId,
    ...columnsOf(memberships, 'messageId', 'folderProviderId', 'date'),
  ]);
  for (const { messageId, folderId } of rows)
    entered.set(messageId, [...(entered.get(messageId) ?? []), folderId]);
  return entered;
}

// Renames in two steps, because two folders may have swapped names.
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

/** Prefix of a message's provider id while another message has the id that it should get. */
export const DISPLACED = '\x01';

/**
 * Stores the new provider ids of messages after their folders were renamed outside this server. If
 * another message already has the new id, the message keeps its old id behind the prefix
 * `DISPLACED`.
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
