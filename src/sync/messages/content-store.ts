import { Injectable } from '@nestjs/common';
import { MailedInvitations } from '../../calendar/rsvp/mailed-invitations.ts';
import { BodyUploads } from '../../mail/messages/objects/body-uploads.ts';
import { insertAttachments, type NewAttachment } from '../../mail/files/store-attachments.ts';
import {
  completeMessages,
  type LockedListedMessage,
  lockListed,
  subjectsFor,
} from '../../mail/messages/listed-messages.ts';
import { storeEventIds } from '../../mail/messages/mirror/store-event-ids.ts';
import { sentByUs, storedCopyKey } from '../../mail/outbox/sent-by-us.ts';
import type { ParsedMessage } from '../../mail/parsing/mime-parser.ts';
import { replaceDocuments } from '../../mail/messages/search-documents/store-document.ts';
import { findThreads } from '../../mail/threading/find-threads.ts';
import { providerThreadsOf } from '../../mail/threading/provider-threads.ts';
import { refreshThreads, threadChanges } from '../../mail/threading/refresh-threads.ts';
import { nameThreads, writeReferences } from '../../mail/threading/store-threads.ts';
import {
  type ThreadedMessage,
  threadKeysOf,
  ThreadPlan,
} from '../../mail/threading/thread-plan.ts';
import { Tracker } from '../../mail/tracking/tracker.ts';
import { type ChangeRecord, recordChanges } from '../../platform/changes/change-log.ts';
import { unannounced } from '../../platform/changes/usual-webhooks.ts';
import { idsOf, type Sql } from '../../platform/database/sql.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { harvestContacts } from '../collections/contact-harvest.ts';
import type { StandardFolders } from '../folders/folder-mirror.ts';
import type { MirrorOwner } from './mirror-changes.ts';
import { type NewMessage, participantsOf } from './mirror-plan.ts';
import { hasAttachment, merge, writeThreadsOf } from './mirror-writes.ts';
import { type ReadFailure, recordFailures } from '../failures/sync-failures.ts';

/** The parsed content of a listed message. */
export interface FetchedContent {
  id: string;
  providerId: string;
  parsed: ParsedMessage;
  /** Exact time of receipt; `undefined` if the mirror has it already. */
  receivedAt: Date | undefined;
  /** Positions of the files whose rows the message has already. Default: it has none. */
  storedParts?: ReadonlySet<number> | undefined;
}

/** The contents of listed messages of one account, and which of them could not be parsed. */
export interface FetchedContents {
  contents: readonly FetchedContent[];
  failures: readonly ReadFailure[];
}

/** Messages received before this time are history. Listed messages always are. */
const NO_NEWS = new Date(8_640_000_000_000_000);

/** Messages to complete, and how their threads change. */
interface CompletionPlan {
  messages: NewMessage[];
  merged: { from: string; into: string }[];
  named: { header: string; threadId: string }[];
}

/**
 * Stores the contents of listed messages: everything that follows from adding a message, in one
 * transaction.
 */
@Injectable()
export class ContentStore {
  constructor(
    private readonly tracker: Tracker,
    private readonly invitations: MailedInvitations,
    private readonly uploads: BodyUploads,
  ) {}

  /**
   * Completes listed messages and records the changes. Messages that are no longer listed are left
   * out. The transaction must have locked the account's row of
   * `sync_job`, so that only one transaction at a time decides about its threads.
   * @param announced whether subscribers are notified of changed drafts and threads; not of what
   *   the first reading of a mailbox finds, which is the default
   */
  async store(
    sql: Sql,
    account: ConnectedAccount,
    { contents, failures }: FetchedContents,
    folders: StandardFolders,
    at: Date,
    announced = false,
  ): Promise<void> {
    const { accountId } = account;
    const locked = await lockListed(sql, accountId, idsOf(contents));
    const owner: MirrorOwner = { account, newsSince: NO_NEWS, at };
    const plan = await this.#plan(sql, account, contents, locked);
    const { messages } = plan;
    if (messages.length === 0) return;
    const written = await write(sql, accountId, plan, newFiles(messages, contents), at);
    await this.uploads.add(sql, accountId, idsOf(messages), at);
    const harvested = await harvestContacts(sql, owner, messages, folders);
    const invited = await this.invitations.applyBatch(sql, owner, messages, folders);
    await storeEventIds(sql, accountId, invited.events);
    const stored = new Set(messages.map(({ remote }) => remote.providerId));
    const recorded = failures.filter(({ providerId }) => stored.has(providerId));
    await recordFailures(sql, accountId, recorded, at);
    await recordChanges(sql, [
      ...changesOf(owner, messages, written).map(announced ? (change) => change : unannounced),
      ...harvested,
      ...invited.changes,
    ]);
  }

  async #plan(
    sql: Sql,
    { accountId, email }: ConnectedAccount,
    contents: readonly FetchedContent[],
    locked: ReadonlyMap<string, LockedListedMessage>,
  ): Promise<CompletionPlan> {
    const headers = contents.flatMap(({ parsed }) => parsed.messageIdHeader ?? []);
    const copies = contents.map(({ providerId }) => providerId);
    const sent = await sentByUs(sql, accountId, [...new Set(headers)], copies);
    const current = [...locked.values()].map(({ threadId }) => threadId);
    const providerThreads = await providerThreadsOf(sql, accountId, [...new Set(current)]);
    const messages = contents.flatMap((content): NewMessage[] => {
      const row = locked.get(content.id);
      const { messageIdHeader } = content.parsed;
      const own = sent.get(messageIdHeader ?? '') ?? sent.get(storedCopyKey(content.providerId));
      if (!row) return [];
      const { parsed } = content;
      // As for messages that come with their content: our own marks are removed from the copy.
      const body = own ? this.tracker.withoutMarks(parsed.body) : parsed.body;
      const hasMetadata = Object.keys(row.metadata).length > 0;
      const metadata = hasMetadata ? row.metadata : (own?.metadata ?? {});
      return [
        {
          ...parsed,
          ...placeOf(row, content),
          body,
          metadata,
          participants: participantsOf(parsed),
        },
      ];
    });
    messages.sort((a, b) => a.remote.receivedAt.getTime() - b.remote.receivedAt.getTime());
    const threaded = messages.map((message): ThreadedMessage => {
      const providerThreadId = providerThreads.get(message.threadId) ?? null;
      return { ...message, date: message.remote.receivedAt, providerThreadId };
    });
    const keys = [...new Set(threaded.flatMap(threadKeysOf))];
    const threads = new ThreadPlan(await findThreads(sql, accountId, keys), email);
    for (const [index, message] of messages.entries()) {
      const one = threaded[index];
      if (!one) continue;
      const promised = sent.get(message.messageIdHeader ?? '')?.threadId;
      const known = { threadId: message.threadId, firstMessageAt: one.date };
      message.threadId = threads.place(one, promised, undefined, known);
    }
    for (const message of messages) message.threadId = threads.final(message.threadId);
    return { messages, merged: threads.merged(), named: threads.named() };
  }
}

/** What the mirror knows about a listed message, in the form of a new one. */
function placeOf(
  { id, providerId, threadId, draft, date, folderIds }: LockedListedMessage,
  { receivedAt = date }: FetchedContent,
): Pick<NewMessage, 'id' | 'providerId' | 'threadId' | 'draft' | 'remote'> {
  // The flags are not written: the mirror knows them.
  const flags = { unread: false, starred: false };
  return {
    id,
    providerId,
    threadId,
    draft,
    remote: { providerId, folderIds, receivedAt, ...flags, content: null },
  };
}

/** The files of messages, except those whose rows are there. */
function newFiles(
  messages: readonly NewMessage[],
  contents: readonly FetchedContent[],
): NewAttachment[] {
  const stored = new Map(contents.map(({ id, storedParts }) => [id, storedParts]));
  return messages.flatMap(({ id: messageId, files }) =>
    files
      .filter(({ part }) => !stored.get(messageId)?.has(part))
      .map((file) => ({ ...file, messageId })),
  );
}

/** How threads and files changed. */
interface Written {
  threads: ChangedThread[];
  mergedThreads: string[];
  fileIds: string[];
  rethreaded: { id: string; draft: boolean }[];
}
type ChangedThread = Awaited<ReturnType<typeof refreshThreads>>[number];

async function write(
  sql: Sql,
  accountId: string,
  { messages, merged, named }: CompletionPlan,
  files: readonly NewAttachment[],
  at: Date,
): Promise<Written> {
  await writeThreadsOf(sql, accountId, messages);
  const { mergedThreads, rethreaded } = await merge(sql, accountId, merged, at);
  const completed = messages.map(({ remote, ...message }) => ({
    ...message,
    date: remote.receivedAt,
    hasAttachments: hasAttachment(message.files),
  }));
  await completeMessages(sql, accountId, completed, at);
  await replaceDocuments(
    sql,
    accountId,
    messages.map(({ id, searchable }) => {
      return { id, document: searchable };
    }),
  );
  const threadIds = new Set([...messages, ...rethreaded].map(({ threadId }) => threadId));
  await writeReferences(
    sql,
    accountId,
    named.filter(({ threadId }) => threadIds.has(threadId)),
  );
  const fileIds = await insertAttachments(sql, accountId, files);
  const threads = await refreshThreads(sql, accountId, [...threadIds], at);
  await nameThreads(sql, accountId, await subjectsFor(sql, accountId, [...threadIds], messages));
  return { threads, mergedThreads, fileIds, rethreaded };
}

function changesOf(
  { account: { accountId, applicationId }, at }: MirrorOwner,
  messages: readonly NewMessage[],
  { threads, mergedThreads, fileIds, rethreaded }: Written,
): ChangeRecord[] {
  const base = { applicationId, accountId, at };
  const changed = new Map([...rethreaded, ...messages].map(({ id, draft }) => [id, draft]));
  return [
    ...threadChanges(base, threads),
    ...mergedThreads.map((objectId): ChangeRecord => {
      return { ...base, object: 'thread', objectId, event: 'delete' };
    }),
    ...[...changed].map(([objectId, draft]): ChangeRecord => {
      return { ...base, object: draft ? 'draft' : 'message', objectId, event: 'modify' };
    }),
    ...fileIds.map((objectId): ChangeRecord => {
      return { ...base, object: 'file', objectId, event: 'create' };
    }),
  ];
}
