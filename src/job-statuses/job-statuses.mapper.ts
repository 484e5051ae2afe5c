import { toUnixSeconds, toUnixSecondsOrNull } from '../platform/base/time/unix-seconds.ts';
import { STATES_WITH_REASON } from './job-status.ts';
import type { AttemptRow, JobRow } from './job-statuses.repository.ts';
import type { JobStatusView } from './job-statuses.schema.ts';
import { shownRetryLimit } from './retry-limit.ts';

/** Fields that only jobs of outbox messages have. */
function outboxPart(row: JobRow): Partial<JobStatusView> {
  if (!row.content || !row.sendAt || !row.originalSendAt || !row.retryLimitAt) return {};
  const sent = row.status === 'successful';
  const times = {
    send_at: toUnixSeconds(row.sendAt),
    original_send_at: toUnixSeconds(row.originalSendAt),
  };
  const retry_limit_datetime = shownRetryLimit(row.sendAt, row.retryLimitAt);
  return {
    ...times,
    message_id: sent ? row.messageId : null,
    thread_id: sent ? row.threadId : null,
    route: row.route,
    metadata: (row.content['metadata'] as Record<string, unknown> | undefined) ?? null,
    original_data: { ...row.content, ...times, retry_limit_datetime },
  };
}

export function toAttemptView(row: AttemptRow): NonNullable<JobStatusView['attempts']>[number] {
  const { attempt, outcome, route, phase, code, detail, rule } = row;
  return {
    attempt,
    started_at: toUnixSeconds(row.startedAt),
    ended_at: toUnixSeconds(row.endedAt),
    outcome,
    route,
    phase,
    code,
    detail,
    next_at: toUnixSecondsOrNull(row.nextAt),
    rule,
  };
}

export function toJobStatusView(row: JobRow): JobStatusView {
  return {
    job_status_id: row.id,
    id:
      row.action === 'new_outbox'
        ? row.status === 'successful'
          ? row.messageId
          : null
        : row.objectId,
    account_id: row.accountId,
    action: row.action,
    object: row.object,
    status: row.status,
    ...(STATES_WITH_REASON.includes(row.status) ? { reason: row.reason ?? '' } : {}),
    created_at: toUnixSeconds(row.createdAt),
    metadata: null,
    ...outboxPart(row),
    ...(row.recipients ? { recipients: row.recipients } : {}),
    ...(row.attempts ? { attempts: row.attempts.map(toAttemptView) } : {}),
  };
}
