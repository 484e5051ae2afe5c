import type { RefusedRecipient } from '../../../platform/base/errors/provider-error.ts';
import type { SendReceipt } from '../../../providers/port/connector.ts';
import type { RecipientProgress, SendJobRow } from './send-attempt.ts';

/* Who has accepted a message, who has refused it, and who still has to get it. */

const key = (email: string) => email.toLowerCase();

/**
 * Recipients that the server had deferred when the outcome became unknown. If a look-up finds the
 * message, the other recipients have it, but these do not.
 */
export function deferredBefore({ deferred, attempt }: SendJobRow): readonly string[] {
  // Out of date after any further attempt: the server may have accepted these recipients in it,
  // although its worker died.
  return deferred?.attempt === attempt - 1 ? deferred.emails : [];
}

/**
 * Recipients that have neither accepted nor refused the message: the recipients of the next
 * attempt.
 */
export function remaining(
  recipients: readonly string[],
  { accepted, refused }: RecipientProgress,
): readonly string[] {
  if (accepted.length === 0 && refused.length === 0) return recipients;
  const settled = new Set([...accepted, ...refused.map(({ email }) => email)].map(key));
  return recipients.filter((email) => !settled.has(key(email)));
}

/**
 * Adds recipients that have refused the message. An address that is listed already keeps its first
 * reason.
 */
export function withRefused(
  { accepted, refused }: RecipientProgress,
  more: readonly RefusedRecipient[],
): RecipientProgress {
  const known = new Set(refused.map(({ email }) => key(email)));
  return { accepted, refused: [...refused, ...more.filter(({ email }) => !known.has(key(email)))] };
}

/**
 * State of the recipients after an attempt that the provider accepted. If the provider deferred no
 * recipient, all it did not refuse have the message.
 * @param asked recipients of the attempt
 * @returns the state, and in `rest` the recipients the message has to be sent to again
 */
export function afterReceipt(
  before: RecipientProgress,
  asked: readonly string[],
  receipt: SendReceipt,
): RecipientProgress & { rest: readonly string[] } {
  const { refused } = withRefused(before, receipt.refused);
  if (receipt.deferred.length === 0) {
    const accepted = [
      ...before.accepted,
      ...remaining(asked, { accepted: [], refused: receipt.refused }),
    ];
    return { accepted, refused, rest: [] };
  }
  const took = new Set(receipt.accepted.map(key));
  const accepted = [...before.accepted, ...asked.filter((email) => took.has(key(email)))];
  return { accepted, refused, rest: remaining(asked, { accepted, refused }) };
}

/**
 * Text of the provider's response to a message it accepted, with the recipients it refused or
 * deferred.
 */
export function receiptText({ response, refused, deferred }: SendReceipt): string {
  const list = (what: string, of: SendReceipt['refused']) =>
    of.length > 0
      ? `; ${what}: ${of.map(({ email, reason }) => `${email} (${reason})`).join(', ')}`
      : '';
  return `${response}${list('refused', refused)}${list('deferred', deferred)}`;
}
