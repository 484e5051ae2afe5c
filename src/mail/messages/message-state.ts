import type { Address } from '../../platform/base/text/address.ts';
import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { refreshThreads, threadChanges } from '../threading/refresh-threads.ts';
import { messageWebhook } from './message-webhooks.ts';
import type { MirrorOwnerIds } from './mirror/remove-messages.ts';
import type { MessageFolder } from './message-folder.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/**
 * The state of a message that can be written to the provider. The mirror shows a change before it
 * is written.
 */
export interface MessageState {
  unread: boolean;
  starred: boolean;
  /** Ids of folders or labels, sorted. */
  folders: string[];
}
export const STATE_KEYS = [
  'unread',
  'starred',
  'folders',
] as const satisfies readonly (keyof MessageState)[];

/**
 * Payload of the provider write `update_message`: the requested keys. A sync pass leaves these keys
 * unchanged while the write is open.
 */
export interface MessagePayload extends Partial<MessageState> {
  /** The previous values of the same keys. They are restored if the provider refuses the change. */
  before: Partial<MessageState>;
}

/** A message whose row is locked until the transaction ends. */
export interface LockedMessage extends MessageState {
  id: string;
  threadId: string;
  date: Date;
  draft: boolean;
  metadata: Record<string, string>;
  from: readonly Address[];
}

const LOCK = `
  select id, thread_id as "threadId", date, draft, unread, starred, metadata,
    from_addresses as "from"
  from message where account_id = $1`;
const LOCK_ONE = `${LOCK} and id = $2 for update`;
const LOCK_THREAD = `${LOCK} and thread_id = $2 and not draft order by id for update`;

// Read after the rows are locked, so that changes committed by others meanwhile are included.
const FOLDERS = `
  select message_id as "messageId", folder_id as "folderId" from message_folder
  where message_id = any($1::uuid[]) order by folder_id`;

/**
 * Locks a message and reads it with its folders.
 * @returns `undefined` if the account has no such message
 */
export async function lockMessage(
  sql: Sql,
  accountId: string,
  id: string,
): Promise<LockedMessage | undefined> {
  return (await withFolders(sql, await sql.query<LockedRow>(LOCK_ONE, [accountId, id])))[0];
}

/**
 * Locks all messages of a thread except its drafts.
 * @returns an empty list if the account has no such thread
 */
export async function lockThread(
  sql: Sql,
  accountId: string,
  threadId: string,
): Promise<LockedMessage[]> {
  return withFolders(sql, await sql.query<LockedRow>(LOCK_THREAD, [accountId, threadId]));
}

type LockedRow = Omit<LockedMessage, 'folders'>;

async function withFolders(sql: Sql, messages: readonly LockedRow[]): Promise<LockedMessage[]> {
  if (messages.length === 0) return [];
  const ids = idsOf(messages);
  const rows = await sql.query<RowOf<MessageFolder, 'messageId' | 'folderId'>>(FOLDERS, [ids]);
  const folders = Map.groupBy(rows, ({ messageId }) => messageId);
  return messages.map((message) => ({
    ...message,
    folders: (folders.get(message.id) ?? []).map(({ folderId }) => folderId),
  }));
}

const WRITE = `
  update message m set unread = x.unread, starred = x.starred, metadata = x.metadata, updated_at = $3
  from jsonb_to_recordset($2::jsonb) x(id uuid, unread boolean, starred boolean, metadata jsonb)
  where m.account_id = $1 and m.id = x.id`;
const LEAVE = `
  delete from message_folder mf
  where mf.message_id = any($1::uuid[])
    and not exists (select 1 from unnest($2::uuid[], $3::uuid[]) x(message_id, folder_id)
                    where x.message_id = mf.message_id and x.folder_id = mf.folder_id)
  returning mf.message_id as "messageId", mf.folder_id as "folderId"`;
const ENTER = `
  insert into message_folder (message_id, folder_id, date, account_id)
  select m.id, f.id, m.date, $1 from unnest($2::uuid[], $3::uuid[]) x(message_id, folder_id)
  join folder f on f.id = x.folder_id and f.account_id = $1
  join message m on m.id = x.message_id and m.account_id = $1
  on conflict do nothing`;

export interface MessageWrite {
  message: LockedMessage;
  /**
   * Key of the webhook notification; `null` if the change is only logged and no webhook is sent.
   */
  dedupe: string | null;
}

/**
 * Writes the states of locked messages, updates their threads and records the changes. The number
 * of statements does not depend on the number of messages.
 */
export async function writeMessages(
  sql: Sql,
  { accountId, applicationId }: MirrorOwnerIds,
  writes: readonly MessageWrite[],
  at: Date,
): Promise<void> {
  if (writes.length === 0) return;
  const messages = writes.map(({ message }) => message);
  const rows = messages.map(({ id, unread, starred, metadata }) => ({
    id,
    unread,
    starred,
    metadata,
  }));
  await sql.query(WRITE, [accountId, JSON.stringify(rows), at]);
  const memberships = messages.flatMap(({ id, folders }) =>
    folders.map((folderId) => ({ id, folderId })),
  );
  const pairs = [idsOf(memberships), memberships.map(({ folderId }) => folderId)];
  const left = Map.groupBy(
    await sql.query<RowOf<MessageFolder, 'messageId' | 'folderId'>>(LEAVE, [
      idsOf(messages),
      ...pairs,
    ]),
    ({ messageId }) => messageId,
  );
  await sql.query(ENTER, [accountId, ...pairs]);
  const threadIds = [
    ...new Set(writes.flatMap((write) => (write.dedupe ? write.message.threadId : []))),
  ];
  const threads = await refreshThreads(sql, accountId, threadIds, at);
  const owner = { applicationId, accountId, at };
  const change = { ...owner, event: 'modify' } as const;
  await recordChanges(sql, [
    ...writes.map(({ message, dedupe }) => {
      const before = (left.get(message.id) ?? []).map(({ folderId }) => folderId);
      const notified = { ...message, folders: [...message.folders, ...before] };
      const webhook = dedupe === null ? null : messageWebhook('message.updated', notified, dedupe);
      return { ...change, object: 'message' as const, objectId: message.id, webhook };
    }),
    ...threadChanges(owner, threads),
  ]);
}

export function sameState<K extends keyof MessageState>(
  a: MessageState[K],
  b: MessageState[K],
): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
