import type { Sql } from '../../platform/database/sql.ts';
import { storePreviousValues } from '../../accounts/provider-writes/open-writes.ts';
import { insertAttachments } from '../../mail/files/store-attachments.ts';
import { folderIds } from '../../mail/folders/mirror-folders.ts';
import { enterFolders, leaveFolders } from '../../mail/messages/mirror/folder-contents.ts';
import {
  dateMessages,
  lockMessagesOfThreads,
  insertMessages,
  type RethreadedMessage,
  rethreadMessages,
  updateMessages,
} from '../../mail/messages/mirror/store-messages.ts';
import {
  dateDocuments,
  insertDocuments,
} from '../../mail/messages/search-documents/store-document.ts';
import { type RefreshedThread, refreshThreads } from '../../mail/threading/refresh-threads.ts';
import {
  lockThreads,
  mergeThreads,
  writeReferences,
  writeThreads,
} from '../../mail/threading/store-threads.ts';
import type { RemoteMessage } from '../../providers/port/connector.ts';
import { rethreadJobs } from '../../job-statuses/jobs.ts';
import type { MirrorPlan, NewMessage } from './mirror-plan.ts';

/*
 * Writes the plan of a batch, in the caller's transaction. The number of statements does not depend
 * on the number of messages.
 */

/** How writing a plan changed threads, messages and files. */
export interface Written {
  threads: RefreshedThread[];
  /**
   * Threads deleted because they were merged into others; threads that contained only drafts are
   * left out.
   */
  mergedThreads: string[];
  /** Ids of new attachments. */
  fileIds: string[];
  /** Messages that moved to another thread in a merge. */
  rethreaded: RethreadedMessage[];
  /** Ids of the folders to which messages were added, by message. */
  entered: ReadonlyMap<string, readonly string[]>;
}

/** Writes the messages of a plan with their threads, files, folders and search documents. */
export async function writePlan(
  sql: Sql,
  accountId: string,
  plan: MirrorPlan,
  at: Date,
): Promise<Written> {
  const { added, changed } = plan;
  await writeThreadsOf(sql, accountId, added);
  const merged = await merge(sql, accountId, plan.merged, at);
  await insertMessages(sql, accountId, added.map(rowOf), at);
  await insertDocuments(
    sql,
    accountId,
    added.map(({ id, remote, searchable }) => {
      return { id, date: remote.receivedAt, document: searchable };
    }),
  );
  await rememberReferences(sql, accountId, plan);
  const files = added.flatMap(({ id, files }) => files.map((file) => ({ ...file, messageId: id })));
  const fileIds = await insertAttachments(sql, accountId, files);
  await updateMessages(
    sql,
    accountId,
    changed.map(({ known, remote, draft }) => {
      return {
        id: known.id,
        providerId: remote.providerId,
        unread: remote.unread,
        starred: remote.starred,
        draft,
      };
    }),
    at,
  );
  const entered = await writeMemberships(sql, accountId, plan);
  const redated = changed.flatMap((change) =>
    change.redated ? [{ id: change.known.id, date: change.remote.receivedAt }] : [],
  );
  await dateMessages(sql, accountId, redated);
  await dateDocuments(sql, accountId, redated);
  const threads = await refreshThreads(sql, accountId, threadsOf(plan, merged.rethreaded), at);
  await rememberReported(sql, accountId, plan.reported);
  return { threads, fileIds, entered, ...merged };
}

/**
 * Ids of the threads to refresh. They may contain threads that were merged into others and no
 * longer exist.
 */
function threadsOf({ added, changed }: MirrorPlan, rethreaded: Written['rethreaded']): string[] {
  const visible = changed.flatMap((change) => (change.visible ? change.known.threadId : []));
  return [...[...added, ...rethreaded].map(({ threadId }) => threadId), ...visible];
}

/**
 * Writes the threads of messages.
 * @param messages oldest first
 */
export async function writeThreadsOf(
  sql: Sql,
  accountId: string,
  messages: readonly NewMessage[],
): Promise<void> {
  if (messages.length > 0) await writeThreads(sql, accountId, threadsToWrite(messages));
}

function threadsToWrite(added: readonly NewMessage[]) {
  const threads = new Map<string, { id: string; subject: string; first: Date; last: Date }>();
  for (const { threadId: id, subject, remote } of added) {
    // `added` is sorted oldest first: the first message gives the thread its subject.
    const thread = threads.get(id) ?? {
      id,
      subject,
      first: remote.receivedAt,
      last: remote.receivedAt,
    };
    threads.set(id, { ...thread, last: remote.receivedAt });
  }
  return [...threads.values()];
}

function rowOf({ remote, ...message }: NewMessage) {
  return {
    ...message,
    date: remote.receivedAt,
    unread: remote.unread,
    starred: remote.starred,
    listed: remote.content?.kind === 'listed',
    hasAttachments: hasAttachments(remote.content, message.files),
  };
}

function hasAttachments(content: RemoteMessage['content'], files: NewMessage['files']): boolean {
  if (content?.kind === 'listed') return content.hasFiles ?? false;
  return hasAttachment(files);
}

/** True if one of the files is an attachment and not only shown in the text. */
export function hasAttachment(files: NewMessage['files']): boolean {
  return files.some(({ contentDisposition }) => contentDisposition === 'attachment');
}

/**
 * Merges threads, and moves their messages and jobs into the threads that remain. Call it after
 * those threads are written.
 */
export async function merge(
  sql: Sql,
  accountId: string,
  merged: MirrorPlan['merged'],
  at: Date,
): Promise<Pick<Written, 'mergedThreads' | 'rethreaded'>> {
  if (merged.length === 0) return { mergedThreads: [], rethreaded: [] };
  const from = merged.map((one) => one.from);
  // Lock messages before threads: other transactions that change a message lock in the same order.
  await lockMessagesOfThreads(sql, accountId, from);
  await lockThreads(sql, accountId, from);
  const rethreaded = await rethreadMessages(sql, accountId, merged, at);
  // A client that asks for a sent message gets its new thread.
  await rethreadJobs(sql, accountId, merged);
  return { mergedThreads: await mergeThreads(sql, accountId, merged), rethreaded };
}

async function rememberReferences(
  sql: Sql,
  accountId: string,
  { named, added, knownThreadIds }: MirrorPlan,
): Promise<void> {
  // Only for threads with messages. A promised thread whose message never arrived has no row.
  const written = new Set([...added.map(({ threadId }) => threadId), ...knownThreadIds]);
  const kept = named.filter(({ threadId }) => written.has(threadId));
  if (kept.length > 0) await writeReferences(sql, accountId, kept);
}

async function writeMemberships(
  sql: Sql,
  accountId: string,
  plan: MirrorPlan,
): Promise<Map<string, string[]>> {
  const moved = plan.changed.filter(({ foldersChanged }) => foldersChanged);
  await leaveFolders(
    sql,
    accountId,
    moved.map(({ known }) => known.id),
  );
  const placed = [
    ...plan.added.map(({ id, remote }) => ({ messageId: id, remote, date: remote.receivedAt })),
    ...moved.map(({ known, remote }) => ({ messageId: known.id, remote, date: known.date })),
  ];
  const memberships = placed.flatMap(({ remote, ...message }) =>
    remote.folderIds.map((folderProviderId) => ({ ...message, folderProviderId })),
  );
  return enterFolders(sql, accountId, memberships);
}

async function rememberReported(
  sql: Sql,
  accountId: string,
  said: MirrorPlan['reported'],
): Promise<void> {
  if (said.length === 0) return;
  const ids = await folderIds(sql, accountId, [
    ...new Set(said.flatMap(({ remote }) => remote.folderIds)),
  ]);
  const fields = said.map(
    ({ id: objectId, remote: { unread, starred, folderIds: providerIds } }) => {
      const folders = providerIds.flatMap((providerId) => ids.get(providerId) ?? []).sort();
      return { objectId, before: { unread, starred, folders } };
    },
  );
  await storePreviousValues(sql, 'update_message', fields);
}
