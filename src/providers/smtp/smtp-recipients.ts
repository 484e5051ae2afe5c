import {
  ProviderError,
  type ProviderErrorCode,
  type RefusedRecipient,
} from '../../platform/base/errors/provider-error.ts';
import type { LibraryError } from './smtp-failure.ts';
import { parseReply, wordsOf } from './smtp-reply.ts';
import { type SmtpVerdict, smtpVerdict } from './smtp-verdict.ts';

/** Recipients that the server did not accept: refused for good, or deferred. */
export interface Unaccepted {
  refused: readonly RefusedRecipient[];
  deferred: readonly RefusedRecipient[];
  /** One verdict per unaccepted recipient. */
  verdicts: readonly SmtpVerdict[];
}

/** If no recipient was accepted, the first code in this list that occurred decides. */
const WORST_FIRST: readonly ProviderErrorCode[] = [
  'quota-exhausted',
  'rate-limited',
  'temporary',
  'auth-invalid',
];
const FINAL: readonly ProviderErrorCode[] = ['rejected', 'auth-invalid'];

/**
 * Sorts the library's errors about recipients into refused and deferred ones.
 * @param originals see `PreparedEnvelope`
 */
export function sortRecipients(
  errors: readonly LibraryError[],
  originals: ReadonlyMap<string, readonly string[]>,
  secrets: readonly string[],
): Unaccepted {
  const refused: RefusedRecipient[] = [];
  const deferred: RefusedRecipient[] = [];
  const verdicts: SmtpVerdict[] = [];
  for (const { recipient = '', response = '' } of errors) {
    const reply = parseReply(response);
    const verdict: SmtpVerdict = reply
      ? smtpVerdict('recipient', reply)
      : { code: 'temporary', retryAfterSeconds: null };
    const final = FINAL.includes(verdict.code);
    const reason = wordsOf(response, secrets);
    const emails = originals.get(recipient) ?? [recipient];
    (final ? refused : deferred).push(...emails.map((email) => ({ email, reason })));
    verdicts.push(verdict);
  }
  return { refused, deferred, verdicts };
}

/**
 * The error for a message that was accepted for no recipient. It is `rejected` if all recipients
 * were refused for good. Otherwise the message may be retried, and `refused` lists the recipients
 * refused for good.
 */
export function allRecipientsRefused({ refused, deferred, verdicts }: Unaccepted): ProviderError {
  const words = [...deferred, ...refused].map(({ email, reason }) => `${email}: ${reason}`);
  const message = words.length > 3 ? `${words.slice(0, 3).join('; ')}; …` : words.join('; ');
  const details = { phase: 'envelope' as const, refused };
  const worst = WORST_FIRST.find((code) => verdicts.some((verdict) => verdict.code === code));
  if (!worst) return new ProviderError('rejected', message, details);
  const asked = verdicts.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return new ProviderError(worst, message, {
    ...details,
    ...(asked.length > 0 ? { retryAfterSeconds: Math.max(...asked) } : {}),
  });
}
