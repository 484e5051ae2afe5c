import { toUnixSeconds, toUnixSecondsOrNull } from '../../platform/base/time/unix-seconds.ts';
import { STATES_WITH_REASON, type JobState } from '../../job-statuses/job-status.ts';
import { shownRetryLimit } from '../../job-statuses/retry-limit.ts';
import type { OutboxItem } from './accept/outbox-content.ts';
import type { OutboxPlan } from './accept/outbox-planner.ts';
import type { OutboxRequest } from './accept/outbox-preparation.ts';
import type {
  CreateOutboxMessage,
  OutboxMessageView,
  OutboxPlanView,
  UpdateOutboxMessage,
} from './outbox.schema.ts';

/** Converts a request body to an outbox request. */
export function toOutboxRequest(body: CreateOutboxMessage): OutboxRequest {
  return {
    fields: body,
    times: {
      sendAt: body.send_at ?? undefined,
      retryLimit: body.retry_limit_datetime ?? undefined,
    },
    choices: {
      onMissed: body.on_missed ?? undefined,
      maxLatenessSeconds: body.max_lateness_seconds ?? undefined,
      onUnknown: body.on_unknown ?? undefined,
    },
  };
}

const LISTS_OF_RECIPIENTS = ['to', 'cc', 'bcc'] as const;
const OTHER_LISTS = ['from', 'reply_to', 'file_ids'] as const;

/**
 * Converts the body of an edit. Some official clients send every list of a message and its
 * metadata with each edit, empty if they were not set. Such an edit has empty `to`, `cc` and `bcc`,
 * and would leave no recipient, so its empty fields count as absent. In every other edit, an empty
 * list removes its entries. An empty `from` always counts as absent, because a message needs a
 * sender.
 */
export function toOutboxEdit(body: UpdateOutboxMessage): OutboxRequest {
  const isPadded = LISTS_OF_RECIPIENTS.every((list) => body[list]?.length === 0);
  const dropped = isPadded ? [...LISTS_OF_RECIPIENTS, ...OTHER_LISTS] : (['from'] as const);
  const edit = { ...body };
  for (const list of dropped) if (edit[list]?.length === 0) delete edit[list];
  if (isPadded && edit.metadata && Object.keys(edit.metadata).length === 0) delete edit.metadata;
  return toOutboxRequest(edit);
}

/**
 * The version that an edit expects the message to have; `null` for any. The official clients build
 * edits from drafts, and send the version of the draft, which says nothing about the message. Such
 * an edit has `thread_id` and `to`, because a stored draft always has a thread. Drafts begin with
 * version 0, and messages with 1.
 */
export function toExpectedVersion({ version, thread_id, to }: UpdateOutboxMessage): number | null {
  const isOfDraft = version === 0 || (Boolean(thread_id) && to !== undefined);
  return isOfDraft ? null : (version ?? null);
}

/** Content and times as `original_data` shows them. */
export function toOriginalData(
  item: Pick<OutboxItem, 'content' | 'sendAt' | 'originalSendAt' | 'retryLimitAt'>,
) {
  return {
    ...item.content,
    send_at: toUnixSeconds(item.sendAt),
    original_send_at: toUnixSeconds(item.originalSendAt),
    retry_limit_datetime: shownRetryLimit(item.sendAt, item.retryLimitAt),
  };
}

export function toOutboxView(item: OutboxItem): OutboxMessageView {
  const status = item.status as JobState;
  const sent = status === 'successful';
  return {
    job_status_id: item.id,
    account_id: item.accountId,
    action: 'new_outbox',
    status,
    ...(STATES_WITH_REASON.includes(status) ? { reason: item.reason ?? '' } : {}),
    created_at: toUnixSeconds(item.createdAt),
    send_at: toUnixSeconds(item.sendAt),
    original_send_at: toUnixSeconds(item.originalSendAt),
    message_id: sent ? item.messageId : null,
    thread_id: sent ? item.threadId : null,
    route: item.route,
    original_data: toOriginalData(item),
    version: item.version,
    on_missed: item.onMissed,
    max_lateness_seconds: item.maxLatenessSeconds,
    on_unknown: item.onUnknown,
  };
}

export function toPlanView({
  message,
  size,
  attempts,
  relayAvailable,
  delay,
}: OutboxPlan): OutboxPlanView {
  const original = toOriginalData({ ...message, originalSendAt: message.sendAt });
  return {
    dry_run: true,
    account_id: message.accountId,
    send_at: original.send_at,
    retry_limit_datetime: original.retry_limit_datetime,
    planned_attempts: attempts.map(({ at, route }) => ({ at: toUnixSeconds(at), route })),
    route: attempts[0]?.route ?? 'account',
    relay_available: relayAvailable,
    account_closed_until: toUnixSecondsOrNull(delay.stoppedUntil),
    account_closed_reason: delay.stoppedUntil ? delay.stopReason : null,
    account_queue_until: toUnixSecondsOrNull(delay.queueUntil),
    size,
    recipients: message.envelope.recipients.length,
    on_missed: message.onMissed,
    max_lateness_seconds: message.maxLatenessSeconds,
    on_unknown: message.onUnknown,
    original_data: original,
  };
}
