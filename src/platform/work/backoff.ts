/** Waits that double, in whatever unit both figures have. */
export interface Backoff {
  /** After the first failure. */
  first: number;
  /** However many there were. */
  longest: number;
}

/** How long to wait after a failure. @param failures in a row, this one included; below 1 counts as 1 */
export function backoff({ first, longest }: Backoff, failures: number): number {
  return Math.min(first * 2 ** Math.max(0, failures - 1), longest);
}

/**
 * Spreads waits that would otherwise end together.
 * @param part 0.1: by ±10 %
 * @param random 0 to 1
 */
export function spread(wait: number, part: number, random: number): number {
  return wait * (1 + part * (2 * random - 1));
}
