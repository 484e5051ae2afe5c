/**
 * How long a provider has to answer that a whole collection is gone or empty before it is believed
 * (ADR 0124). Such an answer may be a failure that passes: it must not remove a user's data.
 */
const BELIEVED_AFTER_MS = 3_600_000;

/**
 * Whether an absence is believed.
 * @param since when the provider first answered so, without another answer in between
 */
export const isBelieved = (since: Date, now: Date): boolean =>
  now.getTime() - since.getTime() >= BELIEVED_AFTER_MS;
