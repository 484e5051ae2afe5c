/** Time between the two proofs that a deletion needs if both may have one cause (ADR 0124). */
export const SECOND_PROOF_AFTER_MS = 3_600_000;

/**
 * Whether an absence is believed.
 * @param since when the provider first answered so, without another answer in between
 */
export const isBelieved = (since: Date, now: Date): boolean =>
  now.getTime() - since.getTime() >= SECOND_PROOF_AFTER_MS;
