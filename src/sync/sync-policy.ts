/** How long a mailbox whose credentials are refused is left alone; a new authentication ends the wait. */
export const INVALID_WAIT_SECONDS = 3_600;
const LONGEST_WAIT_SECONDS = 3_600;
/** After the first failure, which may have been a restart; twice as long after each further one. */
const FIRST_WAIT_SECONDS = 15;
/** Failures after which the account is shown as failing. */
export const FAILURES_UNTIL_SHOWN = 5;
/** Failures are forgotten after so long without one: a mailbox that fails now and then is not well. */
export const STABLE_SECONDS = 600;

const spread = (seconds: number, random: number) => seconds * (0.9 + 0.2 * random);

/**
 * When to look again after a look that was well.
 * @param random 0 to 1: spreads the looks of many accounts by ±10 %
 */
export function nextPoll(now: Date, pollSeconds: number, random: number): Date {
  return new Date(now.getTime() + spread(pollSeconds, random) * 1000);
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
  const backoff = Math.min(FIRST_WAIT_SECONDS * 2 ** Math.min(failures - 1, 10), LONGEST_WAIT_SECONDS);
  const seconds = Math.max(spread(backoff, random), Math.min(retryAfterSeconds ?? 0, 86_400));
  return new Date(now.getTime() + seconds * 1000);
}

/** Wait before a watch is begun again after its first end. */
const WATCH_WAIT_SECONDS = 5;
const LONGEST_WATCH_WAIT_SECONDS = 900;

/**
 * Seconds until a watch that has ended may be begun again: with so many others it may have ended at the same moment.
 * @param failures times it ended since it was last stable, this one included
 * @param random 0 to 1
 */
export function watchWaitSeconds(failures: number, retryAfterSeconds: number | null, random: number): number {
  const longest = Math.min(WATCH_WAIT_SECONDS * 2 ** Math.min(failures, 10), LONGEST_WATCH_WAIT_SECONDS);
  return Math.max(longest * (0.5 + 0.5 * random), retryAfterSeconds ?? 0);
}
