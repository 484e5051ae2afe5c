/** Ways to choose the people of a rotation. */
export const ROUND_ROBINS = ['max-availability', 'max-fairness'] as const;
export type RoundRobin = (typeof ROUND_ROBINS)[number];

/**
 * The order of a rotation. People without a meeting come first, then those whose latest meeting is
 * longest ago. Equal people keep the given order.
 * @param last start of each person's latest meeting
 */
export function rotation(emails: readonly string[], last: ReadonlyMap<string, number>): string[] {
  const at = (email: string): number => last.get(email) ?? -Infinity;
  return emails.toSorted((a, b) => (at(a) === at(b) ? 0 : at(a) - at(b)));
}

/**
 * The people who may get the next meeting: all, or for `max-fairness` the first half of the order,
 * rounded up.
 */
export function candidates(order: readonly string[], roundRobin: RoundRobin): readonly string[] {
  return roundRobin === 'max-fairness' ? order.slice(0, Math.ceil(order.length / 2)) : order;
}
