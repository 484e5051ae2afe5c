import { personAnywhere } from '../../mail/messages/filters/people.ts';
import { lockKnown, lockUnplaced } from '../../mail/messages/mirror/mirrored-messages.ts';
import { type SentByUs, sentByUs, storedCopyKey } from '../../mail/outbox/sent-by-us.ts';
import { findThreads, findThreadsBySubject } from '../../mail/threading/find-threads.ts';
import { providerThreadKey } from '../../mail/threading/provider-threads.ts';
import {
  subjectToFind,
  type ThreadedMessage,
  threadKeysOf,
} from '../../mail/threading/thread-plan.ts';
import { objectsOfEndedJobs } from '../../job-statuses/jobs.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import type { Batch } from './batch-store.ts';
import { nameMarkedCopies } from './marked-copies.ts';
import { openWrites, versionsOfDrafts } from './mirror-knowledge.ts';
import {
  type IncomingMessage,
  isComparable,
  type Knowledge,
  participantsOf,
} from './mirror-plan.ts';

/** A message whose provider write has just ended keeps the state that the mirror shows. */
const ALL_WRITTEN = { unread: true, starred: true, folders: true };

/**
 * Everything the mirror knows about the messages of a batch, read and locked in the current
 * transaction.
 */
export async function knowledgeOf(
  sql: Sql,
  { accountId, email }: ConnectedAccount,
  batch: Batch,
): Promise<Knowledge & { outdated: boolean }> {
  const { changes, incoming, hasVanished, folders, requestedAt } = batch;
  const known = await lockKnown(
    sql,
    accountId,
    changes.messages.map(({ providerId }) => providerId),
  );
  const added = threadedOf(incoming.filter(({ remote }) => !known.has(remote.providerId)));
  const newIds = added.map(({ providerId }) => providerId);
  const own = [...new Set(added.flatMap(({ messageIdHeader }) => messageIdHeader ?? []))];
  const recognised = changes.messages.flatMap(({ messageIdHeader }) => messageIdHeader ?? []);
  const nameless = incoming.some(
    ({ remote, parsed }) =>
      parsed?.messageIdHeader === null &&
      !known.has(remote.providerId) &&
      isComparable(remote, parsed),
  );
  const comparable = nameless && (hasVanished || changes.removed.length > 0);
  const headers = [...new Set([...own, ...recognised])];
  await nameMarkedCopies(sql, accountId, batch, known);
  const sent = await sentByUs(sql, accountId, own, newIds);
  const copies = [...sent.values()].flatMap(({ mirrored, messageId }) =>
    mirrored ? [messageId] : [],
  );
  const unplaced = await lockUnplaced(sql, accountId, changes.removed, {
    headers,
    copies,
    nameless: comparable,
  });
  const reported = changes.messages.flatMap(({ threadId }) =>
    threadId ? providerThreadKey(threadId) : [],
  );
  const writes = known.size + unplaced.length > 0 ? await openWrites(sql, accountId) : new Map();
  const ids = [...known.values(), ...unplaced].map(({ id }) => id);
  const ended = await objectsOfEndedJobs(
    sql,
    accountId,
    ['update_message', 'save_draft'],
    requestedAt,
    ids,
  );
  const stays = new Set([...known.values()].map(({ id }) => id));
  // A message whose write has just ended keeps its state here. If another client has moved it
  // since, the batch does not have it under its old provider id, so `known` does not contain it. It
  // then gets the provider's folders, unless one of our own moves is still open.
  for (const id of ended)
    writes.set(id, { ...ALL_WRITTEN, folders: stays.has(id) || writes.get(id)?.folders === true });
  const unknownDrafts = incoming.flatMap(({ remote: { providerId, folderIds }, parsed }) =>
    parsed && !known.has(providerId) && folderIds.includes(folders.drafts ?? '')
      ? [{ providerId, messageIdHeader: parsed.messageIdHeader }]
      : [],
  );
  const drafts = await versionsOfDrafts(sql, accountId, unknownDrafts, requestedAt);
  return {
    known,
    unplaced,
    writes,
    draftVersions: drafts.draftVersions,
    outdated: ended.length > 0 || drafts.outdated,
    ...(await threadsFor(sql, accountId, email, added, reported)),
    sent,
  };
}

/**
 * Everything that decides how messages are added that have just been sent from here: their threads.
 * @param sent the messages, by the ids that stand for the provider's ids
 */
export async function knowledgeOfSent(
  sql: Sql,
  { accountId, email }: ConnectedAccount,
  incoming: readonly IncomingMessage[],
  sent: ReadonlyMap<string, SentByUs>,
): Promise<Knowledge> {
  return {
    known: new Map(),
    unplaced: [],
    writes: new Map(),
    draftVersions: new Set(),
    ...(await threadsFor(sql, accountId, email, threadedOf(incoming), [])),
    sent: new Map(
      [...sent].flatMap(([providerId, one]) => [
        [one.messageIdHeader, one],
        [storedCopyKey(providerId), one],
      ]),
    ),
  };
}

type Threaded = ThreadedMessage & { providerId: string };

/** Messages with what decides their threads. Those without content are left out. */
function threadedOf(incoming: readonly IncomingMessage[]): Threaded[] {
  return incoming.flatMap(({ remote, parsed }) =>
    parsed
      ? {
          ...parsed,
          providerId: remote.providerId,
          providerThreadId: remote.threadId ?? null,
          date: remote.receivedAt,
          participants: participantsOf(parsed),
        }
      : [],
  );
}

/** @param related further keys of `thread_reference` */
async function threadsFor(
  sql: Sql,
  accountId: string,
  email: string,
  added: readonly Threaded[],
  related: readonly string[],
): Promise<Pick<Knowledge, 'threads' | 'subjects'>> {
  const keys = new Set([...added.flatMap(threadKeysOf), ...related]);
  const questions = added.flatMap((message) => {
    const key = subjectToFind(message);
    const participants = message.participants
      .filter((one) => one !== email)
      .flatMap(personAnywhere);
    const { providerId, date } = message;
    return key === null || participants.length === 0
      ? []
      : [{ providerId, key, date, participants }];
  });
  return {
    threads: await findThreads(sql, accountId, [...keys]),
    subjects: await findThreadsBySubject(sql, accountId, questions),
  };
}
