/** Time between looks at a mailbox that tells us nothing by itself. */
export const POLL_SECONDS = 60;
/** How long a mailbox whose credentials are refused is left alone; a new authentication ends the wait. */
export const INVALID_WAIT_SECONDS = 3_600;
const LONGEST_WAIT_SECONDS = 3_600;
/** Consecutive failures after which the account is shown as failing. */
export const FAILURES_UNTIL_SHOWN = 5;

/**
 * When to look again.
 * @param failures consecutive failures, 0 after a success
 * @param retryAfterSeconds asked for by the provider
 * @param random 0 to 1: spreads the looks of many accounts by ±10 %
 */
export function nextLook(
  now: Date,
  failures: number,
  retryAfterSeconds: number | null,
  random: number,
): Date {
  const backoff = Math.min(POLL_SECONDS * 2 ** Math.min(failures, 10), LONGEST_WAIT_SECONDS);
  const seconds = Math.max(backoff * (0.9 + 0.2 * random), Math.min(retryAfterSeconds ?? 0, 86_400));
  return new Date(now.getTime() + seconds * 1000);
}
