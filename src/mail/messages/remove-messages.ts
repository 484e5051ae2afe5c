import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../platform/changes/change-log.ts';
import { changesOfFiles } from './file-changes.ts';
import { refreshThreads, threadChanges } from '../threading/refresh-threads.ts';
import { deleteEmptyThreads, holdThreads } from '../threading/store-threads.ts';

const REMOVE = `
  delete from message where account_id = $1 and id = any($2::uuid[])
  returning id, thread_id as "threadId", draft, deleting`;

const TWINS = `
  select id from message where account_id = $1 and provider_id = any($2::text[]) and id <> $3 order by id for update`;

/** Whose mirror changes. */
export interface MirrorOwnerIds {
  accountId: string;
  applicationId: string;
}

interface RemovedMessage {
  id: string;
  threadId: string;
  draft: boolean;
  /** A draft that was hidden: the log has told of its end. */
  deleting: boolean;
}

/**
 * Removes messages from the mirror, with their files, and threads that have become empty; nobody is told.
 * @returns what the log is to tell
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
  await holdThreads(sql, accountId, threadIds);
  const threads = await refreshThreads(sql, accountId, threadIds, at);
  await deleteEmptyThreads(sql, accountId, threadIds);
  const shown = messages.filter(({ deleting }) => !deleting);
  return [
    ...shown.map(({ id, draft }): ChangeRecord => {
      return { ...owner, object: draft ? 'draft' : 'message', objectId: id, event: 'delete' };
    }),
    ...files,
    ...threadChanges(owner, threads),
  ];
}

/** Removes messages from the mirror, and threads that have become empty; in the log, without telling subscribers. */
export async function removeMessages(
  sql: Sql,
  owner: MirrorOwnerIds,
  ids: readonly string[],
  at: Date,
) {
  await recordChanges(sql, await dropMessages(sql, owner, ids, at));
}

/**
 * Removes what the mirror has met at the provider before it was known here that it is message `id`: then there are
 * two rows of it.
 */
export async function removeTwins(
  sql: Sql,
  owner: MirrorOwnerIds,
  id: string,
  providerIds: readonly string[],
  at: Date,
): Promise<void> {
  const twins = await sql.query<{ id: string }>(TWINS, [owner.accountId, providerIds, id]);
  await removeMessages(sql, owner, idsOf(twins), at);
}
