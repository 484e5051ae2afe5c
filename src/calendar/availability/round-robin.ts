/** Who of a rotation is asked for. */
export const ROUND_ROBINS = ['max-availability', 'max-fairness'] as const;
export type RoundRobin = (typeof ROUND_ROBINS)[number];

/**
 * Whose turn it is: first who has had no meeting yet, then who has had none for the longest time; among equals in the
 * given order.
 * @param last when each had the latest meeting
 */
export function rotation(emails: readonly string[], last: ReadonlyMap<string, number>): string[] {
  const at = (email: string): number => last.get(email) ?? -Infinity;
  return emails.toSorted((a, b) => (at(a) === at(b) ? 0 : at(a) - at(b)));
}

/** Who may get the next meeting: everybody, or for fairness the half whose turn it is, rounded up. */
export function candidates(order: readonly string[], roundRobin: RoundRobin): readonly string[] {
  return roundRobin === 'max-fairness' ? order.slice(0, Math.ceil(order.length / 2)) : order;
}
