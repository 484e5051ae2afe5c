import {
  DomainError,
  type ErrorDetails,
  type ErrorKind,
} from '../../platform/base/errors/domain-error.ts';
import type {
  ProviderErrorCode,
  RefusedRecipient,
  SendPhase,
} from '../../platform/base/errors/provider-error.ts';

/** Result of a send, as far as the response reports it. */
export interface SendEnd {
  status: string;
  code: ProviderErrorCode | null;
  phase: SendPhase | null;
  detail: string;
  refused: readonly RefusedRecipient[];
  retryAfterSeconds: number | null;
}

/** Refused recipients that an error lists; more would make the response too large. */
const MOST_LISTED = 1_000;
const MOST_CHARACTERS = 1_000;

const SMTP_WORDS = /^(\d{3})[ -]+([\s\S]*)$/;

/** The server's response as `<code> : <text>`; any other text unchanged. */
export function serverError(words: string): string {
  const [, code, text] = SMTP_WORDS.exec(words) ?? [];
  return (code === undefined ? words : `${code} : ${text}`).slice(0, MOST_CHARACTERS);
}

/**
 * The error for the sender of a message, or `null` if every recipient has the message.
 * @param jobStatusId the job that reports what follows
 */
export function sendFailure(end: SendEnd, jobStatusId: string): DomainError | null {
  const { status, detail, refused } = end;
  if (status === 'successful') {
    if (refused.length === 0) return null;
    const message = 'The message was sent, but not to all of its recipients; see failures';
    return failure('partly', 'payment', message, { failures: failuresOf(refused) });
  }
  if (status !== 'failed') return unknown(detail, { jobStatusId });
  const known = known402(end) ?? KNOWN[end.code ?? 'temporary'] ?? TEMPORARY;
  // Without a code the message is in quarantine: its outcome could not be determined.
  if (end.code === 'outcome-unknown' || end.code === null) return unknown(detail, { jobStatusId });
  const { retryAfterSeconds } = end;
  return failure(known.code, known.kind, `${known.message}: ${detail}`.slice(0, MOST_CHARACTERS), {
    serverError: serverError(detail),
    ...(refused.length > 0 ? { failures: failuresOf(refused) } : {}),
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
  });
}

interface Known {
  code: string;
  kind: ErrorKind;
  message: string;
}

const TEMPORARY: Known = {
  code: 'temporary',
  kind: 'unavailable',
  message: 'The message was not sent',
};

const KNOWN: Partial<Record<ProviderErrorCode, Known>> = {
  'auth-invalid': {
    code: 'auth-invalid',
    kind: 'forbidden',
    message: "The provider refused the account's credentials; the user has to authenticate again",
  },
  'quota-exhausted': {
    code: 'quota',
    kind: 'rate-limited',
    message: 'Daily sending quota exceeded',
  },
  'rate-limited': {
    code: 'throttled',
    kind: 'rate-limited',
    message: 'The provider asks for a pause between messages',
  },
};

/** Definite refusals, of all recipients or of the message. */
function known402({ code, refused, phase }: SendEnd): Known | undefined {
  if (code !== 'rejected') return undefined;
  const isOfRecipients = refused.length > 0 && phase !== 'content' && phase !== 'confirmation';
  return isOfRecipients
    ? { code: 'recipients-refused', kind: 'payment', message: 'All recipients were refused' }
    : { code: 'rejected', kind: 'payment', message: 'The provider refused the message' };
}

function unknown(detail: string, details: ErrorDetails): DomainError {
  const message =
    'It is unknown whether the message was sent; sending it again might send it twice. ' +
    `It is being looked up, and its job reports the result: ${detail}`;
  return failure('unknown', 'unavailable', message.slice(0, MOST_CHARACTERS), {
    ...details,
    serverError: serverError(detail),
  });
}

function failure(
  code: string,
  kind: ErrorKind,
  message: string,
  details: ErrorDetails,
): DomainError {
  return new DomainError(`send.${code}`, kind, message, { type: 'api_error', ...details });
}

function failuresOf(refused: readonly RefusedRecipient[]): Record<string, string> {
  return Object.fromEntries(
    refused
      .slice(0, MOST_LISTED)
      .map(({ email, reason }) => [email, reason.slice(0, MOST_CHARACTERS)]),
  );
}
