/** Waits that double after each failure. Both figures have the same unit. */
export interface Backoff {
  /** Wait after the first failure. */
  first: number;
  /** Longest wait, after any number of failures. */
  longest: number;
}

/**
 * Returns how long to wait after a failure, in the unit of `Backoff`.
 * @param failures consecutive failures, this one included; below 1 counts as 1
 */
export function backoff({ first, longest }: Backoff, failures: number): number {
  return Math.min(first * 2 ** Math.max(0, failures - 1), longest);
}

/**
 * Changes a wait at random, so that several waits do not end at the same time.
 * @param part largest change as a share of the wait: 0.1 means ±10 %
 * @param random 0 to 1
 */
export function spread(wait: number, part: number, random: number): number {
  return wait * (1 + part * (2 * random - 1));
}
