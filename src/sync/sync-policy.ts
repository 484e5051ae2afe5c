import { backoff, spread } from '../platform/work/backoff.ts';

/** How long a mailbox whose credentials are refused is left alone; a new authentication ends the wait. */
export const INVALID_WAIT_SECONDS = 3_600;
/** The first failure may have been a restart. */
const BACKOFF_SECONDS = { first: 15, longest: 3_600 };
/** Failures after which the account is shown as failing. */
export const FAILURES_UNTIL_SHOWN = 5;
/** Failures are forgotten after so long without one: a mailbox that fails now and then is not well. */
export const STABLE_SECONDS = 600;

/**
 * When to look again after a look that was well.
 * @param random 0 to 1: spreads the looks of many accounts by ±10 %
 */
export function nextPoll(now: Date, pollSeconds: number, random: number): Date {
  return new Date(now.getTime() + spread(pollSeconds, 0.1, random) * 1000);
}

/**
 * When to look again after a failure.
 * @param failures since the mailbox was last stable, this one included
 * @param retryAfterSeconds asked for by the provider
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

/** At most so long; at least half of it. */
const WATCH_BACKOFF_SECONDS = { first: 10, longest: 900 };

/**
 * Seconds until a watch that has ended may be begun again: with so many others it may have ended at the same moment.
 * @param failures times it ended since it was last stable, this one included
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
