import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import type { ChangeWebhook } from '../../platform/changes/change-log.ts';
import { dedupeKey } from '../../platform/changes/usual-webhooks.ts';

/** What webhooks say about a message. */
export interface NotifiedMessage {
  id: string;
  threadId: string;
  /** When it was received. */
  date: Date;
}

/**
 * The webhook of a change of a message.
 * @param dedupe as in `ChangeWebhook`; absent: each call is an event of its own
 */
export function messageWebhook(
  trigger: 'message.created' | 'message.updated' | 'message.deleted',
  { id, threadId, date }: NotifiedMessage,
  dedupe = dedupeKey(trigger, id),
): ChangeWebhook {
  const attributes = { thread_id: threadId, received_date: toUnixSeconds(date) };
  return { trigger, dedupe, attributes };
}
