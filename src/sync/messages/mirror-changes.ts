import { newId } from '../../platform/base/ids/ids.ts';
import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import type { ChangeRecord } from '../../platform/changes/change-log.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { createdKey } from '../../platform/webhooks/events/created-messages.ts';
import { threadChanges } from '../../mail/threading/refresh-threads.ts';
import { type ChangedMessage, isFailed, isListed, type MirrorPlan } from './mirror-plan.ts';
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

/** `object_data.attributes` of webhook notifications about messages. */
const attributes = (threadId: string, date: Date) => ({
  thread_id: threadId,
  received_date: toUnixSeconds(date),
});

/** Change-log records, with their webhooks, for a stored batch of messages. */
export function changesOf(
  plan: MirrorPlan,
  { threads, mergedThreads, rethreaded, fileIds }: Written,
  { account, newsSince, at }: MirrorOwner,
): ChangeRecord[] {
  const base: Base = { applicationId: account.applicationId, accountId: account.accountId, at };
  const isNews = (receivedAt: Date) => newsSince === null || receivedAt >= newsSince;
  const visible = plan.changed.filter((change) => change.visible);
  const seen = new Set(visible.map(({ known }) => known.id));
  return [
    ...threadChanges(base, threads),
    ...mergedThreads.map((objectId): ChangeRecord => {
      return { ...base, object: 'thread', objectId, event: 'delete' };
    }),
    ...rethreaded
      .filter(({ id }) => !seen.has(id))
      .map(({ id, draft }): ChangeRecord => {
        return { ...base, object: draft ? 'draft' : 'message', objectId: id, event: 'modify' };
      }),
    ...plan.added.map(({ id, threadId, draft, remote }) => {
      if (draft) return { ...base, object: 'draft', objectId: id, event: 'create' } as const;
      // A listed message is history, whenever it was received, unless its provider failed on it.
      const news = (!isListed(remote) || isFailed(remote)) && isNews(remote.receivedAt);
      return created(base, { id, threadId, date: remote.receivedAt }, news);
    }),
    ...fileIds.map((objectId): ChangeRecord => ({
      ...base,
      object: 'file',
      objectId,
      event: 'create',
    })),
    ...visible.flatMap((change) => modified(base, change, isNews(change.known.date))),
  ];
}

interface Named {
  id: string;
  threadId: string;
  date: Date;
}

function created(base: Base, { id, threadId, date }: Named, isNews: boolean): ChangeRecord {
  const change = { ...base, object: 'message', objectId: id, event: 'create' } as const;
  if (!isNews) return change;
  const dedupe = createdKey(id);
  return {
    ...change,
    webhook: { trigger: 'message.created', dedupe, attributes: attributes(threadId, date) },
  };
}

/**
 * When a draft becomes a message, the log shows a deleted draft and a created message. The reverse
 * holds for a message that becomes a draft.
 */
function modified(base: Base, { known, draft }: ChangedMessage, isNews: boolean): ChangeRecord[] {
  const object = draft ? 'draft' : 'message';
  const change = { ...base, object, objectId: known.id, event: 'modify' } as const;
  if (known.draft !== draft) {
    const before = {
      ...base,
      object: known.draft ? 'draft' : 'message',
      objectId: known.id,
    } as const;
    const now = draft ? ({ ...change, event: 'create' } as const) : created(base, known, isNews);
    return [{ ...before, event: 'delete' }, now];
  }
  if (draft) return [change];
  const webhook = {
    trigger: 'message.updated',
    dedupe: `message:${known.id}:updated:${newId()}`,
    attributes: attributes(known.threadId, known.date),
  } as const;
  return [{ ...change, webhook }];
}
