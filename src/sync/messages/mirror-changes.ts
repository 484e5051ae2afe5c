import type { ChangeRecord } from '../../platform/changes/change-log.ts';
import { unannounced } from '../../platform/changes/usual-webhooks.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { messageWebhook, type NotifiedMessage } from '../../mail/messages/message-webhooks.ts';
import { createdKey } from '../../platform/webhooks/events/created-messages.ts';
import { threadChanges } from '../../mail/threading/refresh-threads.ts';
import {
  type ChangedMessage,
  isFailed,
  isListed,
  type MirrorPlan,
  type NewMessage,
} from './mirror-plan.ts';
import type { Written } from './mirror-writes.ts';

/** The account whose mirror changes, and the time from which its changes count as new. */
export interface MirrorOwner {
  account: ConnectedAccount;
  /**
   * Messages received before this time are history: they go into the change log, but send no
   * webhooks. `null` if every message is new.
   */
  newsSince: Date | null;
  at: Date;
}

type Base = Pick<ChangeRecord, 'applicationId' | 'accountId' | 'at'>;

/**
 * Change-log records, with their webhooks, for a stored batch of messages. Threads and drafts have
 * webhooks only if a message or draft of theirs is new or has changed: what the first reading of a
 * mailbox finds is history.
 */
export function changesOf(
  plan: MirrorPlan,
  { threads, mergedThreads, rethreaded, fileIds, entered }: Written,
  { account, newsSince, at }: MirrorOwner,
): ChangeRecord[] {
  const base: Base = { applicationId: account.applicationId, accountId: account.accountId, at };
  const isNews = (receivedAt: Date) => newsSince === null || receivedAt >= newsSince;
  // A listed message is history, whenever it was received, unless its provider failed on it.
  const isNewMail = ({ remote }: Pick<NewMessage, 'remote'>) =>
    (!isListed(remote) || isFailed(remote)) && isNews(remote.receivedAt);
  const visible = plan.changed.filter((change) => change.visible);
  const seen = new Set(visible.map(({ known }) => known.id));
  const announced = new Set([
    ...plan.added.filter(isNewMail).map(({ threadId }) => threadId),
    ...visible.map(({ known }) => known.threadId),
  ]);
  // News made the merges of its batch.
  const ofMerges = announced.size > 0 ? (change: ChangeRecord) => change : unannounced;
  if (announced.size > 0) for (const { threadId } of rethreaded) announced.add(threadId);
  return [
    ...threadChanges(base, threads).map((change) =>
      announced.has(change.objectId) ? change : unannounced(change),
    ),
    ...mergedThreads.map((objectId) =>
      ofMerges({ ...base, object: 'thread', objectId, event: 'delete' }),
    ),
    ...rethreaded
      .filter(({ id }) => !seen.has(id))
      .map(({ id, draft }) =>
        ofMerges({ ...base, object: draft ? 'draft' : 'message', objectId: id, event: 'modify' }),
      ),
    ...plan.added.map((message): ChangeRecord => {
      const { id, threadId, draft, remote, from } = message;
      const news = isNewMail(message);
      const folders = entered.get(id) ?? [];
      if (!draft)
        return created(base, { id, threadId, date: remote.receivedAt, folders, from }, news);
      const change = { ...base, object: 'draft', objectId: id, event: 'create' } as const;
      return news ? change : unannounced(change);
    }),
    ...fileIds.map((objectId): ChangeRecord => ({
      ...base,
      object: 'file',
      objectId,
      event: 'create',
    })),
    ...visible.flatMap((change) =>
      modified(base, change, entered.get(change.known.id) ?? [], isNews(change.known.date)),
    ),
  ];
}

function created(base: Base, message: NotifiedMessage, isNews: boolean): ChangeRecord {
  const { id } = message;
  const change = { ...base, object: 'message', objectId: id, event: 'create' } as const;
  if (!isNews) return change;
  return {
    ...change,
    webhook: messageWebhook('message.created', message, createdKey(id)),
  };
}

/**
 * When a draft becomes a message, the log shows a deleted draft and a created message. The reverse
 * holds for a message that becomes a draft.
 */
function modified(
  base: Base,
  { known, draft }: ChangedMessage,
  entered: readonly string[],
  isNews: boolean,
): ChangeRecord[] {
  const message = { ...known, folders: [...new Set([...known.folders, ...entered])] };
  const object = draft ? 'draft' : 'message';
  const change = { ...base, object, objectId: known.id, event: 'modify' } as const;
  if (known.draft !== draft) {
    const before = { ...base, objectId: known.id, event: 'delete' } as const;
    if (known.draft) return [{ ...before, object: 'draft' }, created(base, message, isNews)];
    const webhook = messageWebhook('message.deleted', message);
    return [
      { ...before, object: 'message', webhook },
      { ...change, event: 'create' },
    ];
  }
  return draft ? [change] : [{ ...change, webhook: messageWebhook('message.updated', message) }];
}
