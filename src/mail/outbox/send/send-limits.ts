import {
  type Attempt,
  OVERDUE_SECONDS,
  type SendJobRow,
  SINGLE_ATTEMPT_SECONDS,
} from './send-attempt.ts';

/* What an attempt may do with its message, and until when. */

/** Whether an earlier attempt has to be looked up before this one may send. */
export function needsLookUp(row: SendJobRow): boolean {
  return row.ambiguous && !isResent(row);
}

/**
 * Whether this attempt may send a second copy on purpose. It may if all look-ups of an unknown
 * outcome proved nothing and `on_unknown` is `resend` (`decideUnproven`).
 */
export function isResent({ ambiguous, resendAttempt, attempt }: SendJobRow): boolean {
  return ambiguous && resendAttempt === attempt;
}

type Times = Pick<SendJobRow, 'retryLimitAt' | 'dueAt'>;

/**
 * When no attempt may begin any more: the retry limit, or an hour after the send time for a message
 * with a single attempt.
 */
export function deadlineOf({ retryLimitAt, dueAt }: Times): Date {
  if (retryLimitAt > dueAt) return retryLimitAt;
  return new Date(dueAt.getTime() + SINGLE_ATTEMPT_SECONDS * 1000);
}

/** Until when an attempt may begin that had to wait for us: a minute after `deadlineOf`. */
export function lastStartOf(row: Times): Date {
  return new Date(deadlineOf(row).getTime() + OVERDUE_SECONDS * 1000);
}

/**
 * Whether the deadline passed before a worker picked the message up. Sending it that late would
 * surprise the recipient.
 */
export const isTooLate = (row: Times, now: Date): boolean => now > lastStartOf(row);

/**
 * When a message is no longer sent after look-ups that proved nothing: its retry limit, or
 * `lastStartOf` if only a failover makes it look attempted.
 */
export function resendLimitOf(row: SendJobRow): Date {
  return row.attemptAssumed ? lastStartOf(row) : row.retryLimitAt;
}

/**
 * Whether an attempt before the current one was made, or may have been. An attempt that is only
 * assumed does not count (`SendJobRow.attemptAssumed`).
 */
const mayHaveBeenAttempted = (row: SendJobRow) =>
  row.attemptAssumed ? row.failures > 0 || row.route === 'relay' : row.attempt > 1 || row.ambiguous;

/**
 * From when on a message is later than its sender allows; `null` if it may be late, or if it may
 * have been attempted.
 */
export function missedFrom({ row, message }: Pick<Attempt, 'row' | 'message'>): Date | null {
  if (message?.onMissed !== 'skip' || mayHaveBeenAttempted(row)) return null;
  // Whole seconds count.
  return new Date(row.dueAt.getTime() + ((message.maxLatenessSeconds ?? 0) + 1) * 1000);
}

/**
 * Whole seconds by which a message that was never attempted is later than its sender allows. 0
 * means the message may be sent now.
 */
export function secondsMissed(attempt: Attempt): number {
  const { row, startedAt } = attempt;
  const from = missedFrom(attempt);
  return from && startedAt >= from
    ? Math.floor((startedAt.getTime() - row.dueAt.getTime()) / 1000)
    : 0;
}
