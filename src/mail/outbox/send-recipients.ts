import type { SendReceipt } from '../../providers/port/connector.ts';
import type { RefusedRecipient } from '../../platform/base/errors/provider-error.ts';

/** How far a message has come with its recipients, over all attempts. */
export interface RecipientProgress {
  /** Those who have accepted it. */
  accepted: readonly string[];
  /** Those who have refused it for good. */
  refused: readonly RefusedRecipient[];
}

const key = (email: string) => email.toLowerCase();

/** Recipients who have neither accepted nor refused the message: those of the next attempt. */
export function remaining(
  recipients: readonly string[],
  { accepted, refused }: RecipientProgress,
): readonly string[] {
  if (accepted.length === 0 && refused.length === 0) return recipients;
  const settled = new Set([...accepted, ...refused.map(({ email }) => email)].map(key));
  return recipients.filter((email) => !settled.has(key(email)));
}

/** Adds those who are refused from now on; the first reason of an address stays. */
export function withRefused(
  { accepted, refused }: RecipientProgress,
  more: readonly RefusedRecipient[],
): RecipientProgress {
  const known = new Set(refused.map(({ email }) => key(email)));
  return { accepted, refused: [...refused, ...more.filter(({ email }) => !known.has(key(email)))] };
}

/**
 * How far a message has come after an attempt that the provider accepted.
 * @param asked recipients of the attempt
 * @returns `rest`: those it is to be sent to again. Without any whom the provider puts off, everybody it did not refuse
 *   has it.
 */
export function afterReceipt(
  before: RecipientProgress,
  asked: readonly string[],
  receipt: SendReceipt,
): RecipientProgress & { rest: readonly string[] } {
  const { refused } = withRefused(before, receipt.refused);
  if (receipt.deferred.length === 0) {
    const accepted = [...before.accepted, ...remaining(asked, { accepted: [], refused: receipt.refused })];
    return { accepted, refused, rest: [] };
  }
  const took = new Set(receipt.accepted.map(key));
  const accepted = [...before.accepted, ...asked.filter((email) => took.has(key(email)))];
  return { accepted, refused, rest: remaining(asked, { accepted, refused }) };
}
