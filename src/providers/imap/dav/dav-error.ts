import { type EgressError } from '../../../platform/egress/egress-error.ts';
import { parseRetryAfter } from '../../../platform/egress/retry-after.ts';
import {
  ProviderError,
  type ProviderErrorCode,
} from '../../../platform/base/errors/provider-error.ts';

/** What is known of a request that a server has refused. */
export interface DavRefusal {
  status: number;
  /** `calendars` or `address book`, for the message. */
  what: string;
  /** The answer's body: only names of conditions (RFC 4918 16) are read from it. */
  body?: string;
  retryAfter?: string | null;
  now: Date;
  setting: 'caldav_url' | 'carddav_url';
}

/**
 * Conditions that servers name (RFC 4791 5.3.2.1, RFC 6352 6.3.2.1, RFC 4331), with what they mean. The first that a body
 * has is taken.
 */
const CONDITIONS: readonly [RegExp, ProviderErrorCode, string][] = [
  [/\bquota-not-exceeded\b|\bsufficient-disk-space\b/, 'rejected', 'there is no room left'],
  [/\bmax-resource-size\b/, 'rejected', 'it is too large for the server'],
  [/\bno-uid-conflict\b/, 'conflict', 'the server has another object with this UID'],
  [/\bneed-privileges\b/, 'rejected', 'the account may not do this'],
];

function codeOf(status: number): ProviderErrorCode {
  switch (status) {
    case 401:
      return 'auth-invalid';
    case 404:
    case 410:
      return 'not-found';
    case 412:
      return 'conflict';
    case 408:
    case 423: // locked by another client for a while
    case 425:
      return 'temporary';
    case 429:
      return 'rate-limited';
    case 405:
    case 501:
      return 'unsupported';
    case 507:
      return 'rejected';
    default:
      return status >= 500 ? 'temporary' : 'rejected';
  }
}

/** A refusal that still knows its status. */
export class DavRefusedError extends ProviderError {
  readonly status: number;

  constructor(status: number, ...rest: ConstructorParameters<typeof ProviderError>) {
    super(...rest);
    this.status = status;
  }
}

/**
 * What an HTTP status means. 401 alone speaks of the credentials: 403 is said to those who are logged in and may not do
 * this one thing (a calendar that is read-only, somebody else's).
 */
export function davFailure({
  status,
  what,
  body = '',
  retryAfter,
  now,
  setting,
}: DavRefusal): ProviderError {
  // A 503 with a time is a wish to be left alone until then; many servers limit their clients so.
  const limited = status === 429 || (status === 503 && Boolean(retryAfter));
  const at = limited ? parseRetryAfter(retryAfter ?? null, now) : null;
  const named =
    status >= 400 && status < 500 ? CONDITIONS.find(([name]) => name.test(body)) : undefined;
  const code = limited ? 'rate-limited' : (named?.[1] ?? codeOf(status));
  const reason = named ? `: ${named[2]}` : '';
  return new DavRefusedError(
    status,
    code,
    `The server of the ${what} answered ${status}${reason}`,
    {
      setting,
      ...(at ? { retryAfterSeconds: (at.getTime() - now.getTime()) / 1000 } : {}),
    },
  );
}

/** What it means that there was no answer. An address that may not be reached will not become reachable by itself. */
export function davSilence(
  error: EgressError,
  what: string,
  setting: 'caldav_url' | 'carddav_url',
): ProviderError {
  return new ProviderError(
    error.kind === 'blocked' ? 'rejected' : 'temporary',
    `The server of the ${what} cannot be reached: ${error.message}`,
    { setting, cause: error },
  );
}

/** For `catch`: what is to be removed may be gone already. */
export function unlessGone(error: unknown): void {
  if (!(error instanceof ProviderError) || error.code !== 'not-found') throw error;
}
