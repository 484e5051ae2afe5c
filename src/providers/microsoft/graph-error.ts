import { z } from 'zod';
import {
  ProviderError,
  type ProviderErrorCode,
} from '../../platform/base/errors/provider-error.ts';
import type { EgressResponse } from '../../platform/egress/egress-client.ts';
import { secondsToWait } from '../../platform/egress/retry-after.ts';
import { jsonOf, shownText } from '../port/service-responses.ts';

const errorBody = z.object({
  error: z.object({ code: z.string().catch(''), message: z.string().catch('') }),
});

/** An unsuccessful response of Microsoft Graph, with its HTTP status and error code. */
export class GraphError extends ProviderError {
  override name = 'GraphError';

  /**
   * @param status of the HTTP response
   * @param reason Graph's error code, such as `ErrorItemNotFound`; empty if it gives none
   */
  constructor(
    readonly status: number,
    readonly reason: string,
    code: ProviderErrorCode,
    message: string,
    retryAfterSeconds: number | null,
  ) {
    super(code, message, retryAfterSeconds === null ? {} : { retryAfterSeconds });
  }

  /** Whether the account's token does not cover the request. */
  get isWithoutConsent(): boolean {
    return NO_CONSENT.includes(this.reason);
  }

  /**
   * Whether Exchange said that the mailbox cannot be used, as it does now and then about mailboxes
   * that work. The request had no effect and mostly succeeds when it is repeated.
   */
  get isPassing(): boolean {
    return PASSING.includes(this.reason);
  }

  /**
   * Whether a link of a list or of a delta query leads nowhere any more, so that everything has to
   * be listed again. Graph answers old links with 404 `UnknownError`, too, and with 400 and several
   * codes, such as `ErrorInvalidSyncStateData`.
   */
  get isLostLink(): boolean {
    const isUnnamed = this.status === 404 && ['', 'UnknownError'].includes(this.reason);
    const isRefused = this.status === 400 && SYNC_STATE.test(this.reason);
    return this.isNotFound || isUnnamed || isRefused;
  }

  /** Whether Graph has not found the object of the request. */
  get isNotFound(): boolean {
    return this.code === 'not-found';
  }

  /** The same error with advice. */
  with(advice: string): GraphError {
    const { status, reason, code, message, retryAfterSeconds } = this;
    return new GraphError(status, reason, code, `${message} ${advice}`, retryAfterSeconds);
  }

  /** The same error as one that passes. */
  asPassing(): GraphError {
    const { status, reason, message, retryAfterSeconds } = this;
    return new GraphError(status, reason, 'temporary', message, retryAfterSeconds);
  }
}

/** Codes about the state of a delta query, or about a token of a link. */
const SYNC_STATE = /sync_?state|resync|(?:delta|skip)_?token/i;

const NO_CONSENT: readonly string[] = ['ErrorAccessDenied', 'Authorization_RequestDenied'];

/**
 * Waits for a part of an account. A part that the token does not cover is not there.
 * @throws {ProviderError} `unsupported` if the token does not cover the part
 */
export async function ifAllowed<T>(part: Promise<T>): Promise<T> {
  try {
    return await part;
  } catch (error) {
    if (error instanceof GraphError && error.isWithoutConsent)
      throw new ProviderError('unsupported', error.message, { cause: error });
    throw error;
  }
}

/** These come with 404 or 503, and go again: they say nothing about the object of the request. */
const PASSING: readonly string[] = [
  'MailboxNotEnabledForRESTAPI',
  'MailboxNotSupportedForRESTAPI',
  'ErrorNonExistentMailbox',
  'ErrorMailboxStoreUnavailable',
  'MailboxInfoStale',
];

/**
 * Codes that decide alone. Their HTTP statuses differ between the documentation and what is seen.
 */
const CODES: Readonly<Record<string, ProviderErrorCode>> = {
  ErrorExceededMessageLimit: 'quota-exhausted',
  ErrorSubmissionQuotaExceeded: 'quota-exhausted',
  ErrorMessageThrottled: 'rate-limited',
  ApplicationThrottled: 'rate-limited',
  MailboxConcurrency: 'rate-limited',
  ErrorInvalidIdMalformed: 'not-found',
  ErrorItemNotFound: 'not-found',
  ErrorFolderNotFound: 'not-found',
  ErrorCannotFindFolder: 'not-found',
  // The state of a delta query is gone. Some of Microsoft's services say so with 400.
  SyncStateNotFound: 'not-found',
  syncStateNotFound: 'not-found',
  SyncStateInvalid: 'not-found',
  resyncRequired: 'not-found',
  ErrorFolderExists: 'conflict',
  ErrorIrresolvableConflict: 'conflict',
  ErrorChangeKeyRequiredForWriteOperations: 'conflict',
  ErrorMailboxMoveInProgress: 'temporary',
  ErrorServerBusy: 'temporary',
};

function codeOf(status: number, reason: string): ProviderErrorCode {
  const known = PASSING.includes(reason) ? 'temporary' : CODES[reason];
  if (known) return known;
  switch (status) {
    case 401:
      return 'auth-invalid';
    case 404:
      // Without a name, the answer may be one of a server between Exchange and us.
      return ['', 'UnknownError'].includes(reason) ? 'temporary' : 'not-found';
    case 410:
      return 'not-found';
    case 409:
    case 412:
      return 'conflict';
    case 429:
      return 'rate-limited';
    default:
      return status >= 400 && status < 500 && status !== 408 && status !== 423
        ? 'rejected'
        : 'temporary';
  }
}

/** The error for an unsuccessful response of Graph. */
export function toGraphError(
  response: Pick<EgressResponse, 'status' | 'body' | 'retryAfter'>,
  now: Date,
): GraphError {
  const { status, body, retryAfter } = response;
  const error = errorBody.safeParse(jsonOf(body)).data?.error;
  const reason = error?.code ?? '';
  const words = shownText([reason, error?.message ?? ''].filter(Boolean).join(': '));
  return new GraphError(
    status,
    reason,
    codeOf(status, reason),
    words === '' ? `Microsoft: HTTP status ${status}` : `Microsoft: ${status} ${words}`,
    secondsToWait(retryAfter, now),
  );
}
