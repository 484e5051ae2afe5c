import { backoff, spread } from '../platform/work/queue/backoff.ts';

/**
 * Seconds between two attempts on a mailbox whose credentials were refused. A new authentication
 * ends the wait.
 */
export const INVALID_WAIT_SECONDS = 3_600;
/**
 * Seconds between two looks at the mailbox of a suspended application. Resuming the application
 * ends the wait.
 */
const SUSPENDED_WAIT_SECONDS = 900;
/** In seconds. The first wait is short: the failure may have been a server restart. */
const BACKOFF_SECONDS = { first: 15, longest: 3_600 };
/**
 * Failures since the mailbox was last stable (`STABLE_SECONDS`) after which the account is shown as
 * failing.
 */
export const FAILURES_UNTIL_SHOWN = 5;
/**
 * Seconds without a failure after which earlier failures are forgotten. A mailbox that fails now
 * and then is not stable.
 */
export const STABLE_SECONDS = 600;

/**
 * An account waits for its next poll for this part of the time that it has not changed, within the
 * limits of `pollInterval`.
 */
const QUIET_PART = 0.1;

/**
 * Seconds between two sync passes of an account (ADR 0099).
 * @param shortest interval of an account that has just changed, in seconds
 * @param quietFactor how many times longer the interval may become
 * @param quietMs milliseconds since the account last changed
 */
export function pollInterval(shortest: number, quietFactor: number, quietMs: number): number {
  const wanted = (quietMs / 1000) * QUIET_PART;
  return Math.min(Math.max(shortest, wanted), shortest * quietFactor);
}

/**
 * Time of the next poll: a whole second. Accounts whose polls follow in the same second are claimed
 * together, which costs little more than one of them.
 * @param seconds from now on
 * @param random as for `nextPoll`
 */
export function nextPollTogether(now: Date, seconds: number, random: number): Date {
  return new Date(Math.round(nextPoll(now, seconds, random).getTime() / 1000) * 1000);
}

/**
 * Time of the next sync pass after a successful one.
 * @param random 0 to 1: spreads the passes of many accounts by ±10 %
 */
export function nextPoll(now: Date, pollSeconds: number, random: number): Date {
  return new Date(now.getTime() + spread(pollSeconds, 0.1, random) * 1000);
}

/**
 * Seconds until a mailbox is looked at again while its application is suspended.
 * @param random as for `nextPoll`
 */
export function suspendedWait(random: number): number {
  return spread(SUSPENDED_WAIT_SECONDS, 0.1, random);
}

/**
 * Time of the next sync pass after a failure.
 * @param failures since the mailbox was last stable, including this one
 * @param retryAfterSeconds requested by the provider; at most a day is respected
 * @param random as for `nextPoll`
 */
export function nextAttempt(
  now: Date,
  failures: number,
  retryAfterSeconds: number | null,
  random: number,
): Date {
  const wait = spread(backoff(BACKOFF_SECONDS, failures), 0.1, random);
  const seconds = Math.max(wait, Math.min(retryAfterSeconds ?? 0, 86_400));
  return new Date(now.getTime() + seconds * 1000);
}

/** Seconds after a request for a pass at which a pass that has found nothing is repeated. */
const LOOKS_AGAIN = [5, 30] as const;

/**
 * Seconds until a pass is repeated because it has found nothing: providers report a change some
 * seconds before it can be read.
 * @param quietMs milliseconds since the pass was requested
 * @returns `null` if there is no reason to look again
 */
export function secondsToLookAgain(quietMs: number): number | null {
  const next = LOOKS_AGAIN.find((seconds) => seconds * 1000 > quietMs);
  return next === undefined ? null : next - quietMs / 1000;
}

/** Upper limit of the wait in seconds. `random` shortens the wait by up to half. */
const WATCH_BACKOFF_SECONDS = { first: 10, longest: 900 };

/**
 * Seconds until a watch that ended may be started again. The random part spreads many watches that
 * ended at the same time.
 * @param failures times the watch ended since it was last stable, including this one
 * @param random 0 to 1
 */
export function watchWaitSeconds(
  failures: number,
  retryAfterSeconds: number | null,
  random: number,
): number {
  const longest = backoff(WATCH_BACKOFF_SECONDS, failures);
  return Math.max(longest * (0.5 + 0.5 * random), retryAfterSeconds ?? 0);
}
