import { type EgressError } from '../../../platform/egress/egress-error.ts';
import { parseRetryAfter } from '../../../platform/egress/retry-after.ts';
import {
  ProviderError,
  type ProviderErrorCode,
} from '../../../platform/base/errors/provider-error.ts';

/** A request that a server refused, and its response. */
export interface DavRefusal {
  status: number;
  /** `calendars` or `address books`, for the error text. */
  what: string;
  /** Body of the response. Only names of conditions (RFC 4918 section 16) are read from it. */
  body?: string;
  retryAfter?: string | null;
  now: Date;
  setting: 'caldav_url' | 'carddav_url';
}

/**
 * Conditions that servers report (RFC 4791 section 5.3.2.1, RFC 6352 section 6.3.2.1, RFC 4331),
 * and their meaning. The first one found in the body counts.
 */
const CONDITIONS: readonly [RegExp, ProviderErrorCode, string][] = [
  [
    /\bquota-not-exceeded\b|\bsufficient-disk-space\b/,
    'rejected',
    'there is no storage space left',
  ],
  [/\bmax-resource-size\b/, 'rejected', 'it is too large for the server'],
  [/\bno-uid-conflict\b/, 'conflict', 'the server has another object with this UID'],
  [/\bneed-privileges\b/, 'rejected', 'the account is not allowed to do this'],
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

/** A refusal, with the HTTP status. */
export class DavRefusedError extends ProviderError {
  readonly status: number;

  constructor(status: number, ...rest: ConstructorParameters<typeof ProviderError>) {
    super(...rest);
    this.status = status;
  }
}

/**
 * The error for an HTTP status. Only 401 refuses the credentials. 403 means that the user is logged
 * in but must not do this (for example, the calendar is read-only or another user's).
 */
export function davFailure({
  status,
  what,
  body = '',
  retryAfter,
  now,
  setting,
}: DavRefusal): ProviderError {
  // A 503 with Retry-After asks the client to wait; many servers enforce rate limits this way.
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

/**
 * The error if there was no response. A blocked address is `rejected`, because it will not become
 * reachable by itself.
 */
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

/** For `catch`: ignores that an object to be deleted does not exist. */
export function ignoreNotFound(error: unknown): void {
  if (!(error instanceof ProviderError) || error.code !== 'not-found') throw error;
}
