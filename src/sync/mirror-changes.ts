import { newId } from '../common/ids/ids.ts';
import { toUnixSeconds } from '../common/time/unix-seconds.ts';
import type { ChangeRecord } from '../deltas/change-log.ts';
import type { ConnectedAccount } from '../grants/provider-accounts.ts';
import type { MirrorPlan } from './mirror-plan.ts';

/** Whose mirror changes, and since when its changes are news. */
export interface MirrorOwner {
  account: ConnectedAccount;
  /**
   * Messages that were received earlier are history: they are logged, but subscribers are not told. Null: everything
   * is news.
   */
  newsSince: Date | null;
  at: Date;
}

type Base = Pick<ChangeRecord, 'applicationId' | 'accountId' | 'at'>;

/** `object_data.attributes` of message notifications (api facts 10.4). */
const attributes = (threadId: string, date: Date) => ({
  thread_id: threadId,
  received_date: toUnixSeconds(date),
});

/** What a batch of messages looks like in the change log and to subscribers. */
export function changesOf(
  plan: MirrorPlan,
  createdThreads: ReadonlySet<string>,
  { account, newsSince, at }: MirrorOwner,
): ChangeRecord[] {
  const base: Base = { applicationId: account.applicationId, accountId: account.accountId, at };
  const isNews = (receivedAt: Date) => newsSince === null || receivedAt >= newsSince;
  const threads = [...new Set(plan.added.map(({ threadId }) => threadId))];
  return [
    ...threads.map((objectId): ChangeRecord => ({
      ...base,
      object: 'thread',
      objectId,
      event: createdThreads.has(objectId) ? 'create' : 'modify',
    })),
    ...plan.added.map(({ id, threadId, draft, remote }): ChangeRecord => {
      const change = { ...base, object: draft ? 'draft' : 'message', objectId: id, event: 'create' } as const;
      if (draft || !isNews(remote.receivedAt)) return change;
      return {
        ...change,
        webhook: {
          trigger: 'message.created',
          dedupe: `message:${id}:created`,
          attributes: attributes(threadId, remote.receivedAt),
        },
      };
    }),
    ...plan.changed.map(({ known, draft }): ChangeRecord => {
      const object = draft ? 'draft' : 'message';
      const change = { ...base, object, objectId: known.id, event: 'modify' } as const;
      if (draft) return change;
      return {
        ...change,
        webhook: {
          trigger: 'message.updated',
          dedupe: `message:${known.id}:updated:${newId()}`,
          attributes: attributes(known.threadId, known.date),
        },
      };
    }),
  ];
}

/** What the removal of messages looks like in the change log. */
export function removalsOf(
  messages: readonly { id: string; draft: boolean }[],
  threads: readonly { id: string; deleted: boolean }[],
  { account, at }: MirrorOwner,
): ChangeRecord[] {
  const base: Base = { applicationId: account.applicationId, accountId: account.accountId, at };
  return [
    ...messages.map(({ id, draft }): ChangeRecord => ({
      ...base,
      object: draft ? 'draft' : 'message',
      objectId: id,
      event: 'delete',
    })),
    ...threads.map(({ id, deleted }): ChangeRecord => ({
      ...base,
      object: 'thread',
      objectId: id,
      event: deleted ? 'delete' : 'modify',
    })),
  ];
}
