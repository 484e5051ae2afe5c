import { toUnixSeconds } from '../platform/base/time/unix-seconds.ts';

/*
 * A retry limit that is not after the send time means a single attempt. Clients ask for it with 0
 * or with the send time itself, and are shown what they sent: 0 is stored as an instant just before
 * the send time.
 */

/** The stored retry limit for `retry_limit_datetime: 0`: a single attempt at `sendAt`. */
export const singleAttempt = (sendAt: Date): Date => new Date(sendAt.getTime() - 1);

/**
 * A stored retry limit as `retry_limit_datetime` shows it, in Unix seconds; 0 for `singleAttempt`.
 */
export const shownRetryLimit = (sendAt: Date, retryLimitAt: Date): number =>
  retryLimitAt < sendAt ? 0 : toUnixSeconds(retryLimitAt);
