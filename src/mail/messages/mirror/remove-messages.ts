import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../../platform/changes/change-log.ts';
import { messageWebhook, type NotifiedMessage } from '../message-webhooks.ts';
import { deleteContents } from '../contents/store-contents.ts';
import { changesOfFiles } from './file-changes.ts';
import { refreshThreads, threadChanges } from '../../threading/refresh-threads.ts';
import { removeDocuments } from '../search-documents/store-document.ts';
import { deleteEmptyThreads, lockThreads } from '../../threading/store-threads.ts';
import type { Message } from '../message.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

const REMOVE = `
  delete from message where account_id = $1 and id = any($2::uuid[])
  returning id, thread_id as "threadId", draft, deleting, date, from_addresses as "from",
    array(select folder_id from message_folder where message_id = message.id) as folders`;

const DUPLICATES = `
  select id from message where account_id = $1 and provider_id = any($2::text[]) and id <> $3 order by id for update`;

/** The account whose mirror changes, and its application. */
export interface MirrorOwnerIds {
  accountId: string;
  applicationId: string;
}

interface RemovedMessage extends NotifiedMessage, RowOf<Message, 'draft'> {
  /** True for a hidden draft. Its deletion is already in the change log. */
  deleting: boolean;
}

/**
 * Deletes messages from the mirror, with their files and threads that have become empty. Records
 * nothing itself.
 * @returns the records for the change log
 */
export async function dropMessages(
  sql: Sql,
  { accountId, applicationId }: MirrorOwnerIds,
  ids: readonly string[],
  at: Date,
): Promise<ChangeRecord[]> {
  if (ids.length === 0) return [];
  const owner = { applicationId, accountId, at };
  const files = await changesOfFiles(sql, owner, ids);
  const messages = await sql.query<RemovedMessage>(REMOVE, [accountId, ids]);
  const threadIds = [...new Set(messages.map(({ threadId }) => threadId))];
  if (threadIds.length === 0) return [];
  await deleteContents(sql, accountId, idsOf(messages));
  await removeDocuments(sql, accountId, idsOf(messages));
  await lockThreads(sql, accountId, threadIds);
  const threads = await refreshThreads(sql, accountId, threadIds, at);
  await deleteEmptyThreads(sql, accountId, threadIds);
  const shown = messages.filter(({ deleting }) => !deleting);
  return [
    ...shown.map((message): ChangeRecord => {
      const { id: objectId, draft } = message;
      const change = { ...owner, objectId, event: 'delete' } as const;
      if (draft) return { ...change, object: 'draft' };
      return { ...change, object: 'message', webhook: messageWebhook('message.deleted', message) };
    }),
    ...files,
    ...threadChanges(owner, threads),
  ];
}

/**
 * Deletes messages from the mirror, and threads that have become empty, and records the deletions.
 */
export async function removeMessages(
  sql: Sql,
  owner: MirrorOwnerIds,
  ids: readonly string[],
  at: Date,
) {
  await recordChanges(sql, await dropMessages(sql, owner, ids, at));
}

/**
 * Deletes duplicates of the message `id`. A sync pass inserts one if it sees the message at the
 * provider before its provider id is stored here.
 */
export async function removeDuplicates(
  sql: Sql,
  owner: MirrorOwnerIds,
  id: string,
  providerIds: readonly string[],
  at: Date,
): Promise<void> {
  const duplicates = await sql.query<{ id: string }>(DUPLICATES, [
    owner.accountId,
    providerIds,
    id,
  ]);
  await removeMessages(sql, owner, idsOf(duplicates), at);
}
