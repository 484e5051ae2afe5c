import type { AuthorizationResponseError, ResponseBodyError } from 'openid-client';
import { openidClient } from './openid-client.ts';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { EgressError } from '../../platform/egress/egress-error.ts';
import { storable } from '../../platform/base/text/storable.ts';

/**
 * Why a request to an authorization server failed. This list is closed.
 *
 * - `refused`: the code or token is not valid, or no longer (`invalid_grant`), or the server wants
 *   to see the user (`interaction_required`); the user has to sign in again
 * - `denied`: the user, or the server on the user's behalf, declined (`access_denied`, or another
 *   error in the redirect)
 * - `unapproved`: an administrator of the user's organization has to agree first
 *   (`consent_required` in the redirect)
 * - `misconfigured`: the server does not accept the application's registration or the requested
 *   values
 * - `unavailable`: no response, or status 429 or 5xx; may succeed later
 * - `unexpected`: a response that breaks the protocol or belongs to another request
 */
export type OauthFailure =
  | 'refused'
  | 'denied'
  | 'unapproved'
  | 'misconfigured'
  | 'unavailable'
  | 'unexpected';

const BETA_TYPES = {
  refused: 'grant.credentials_refused',
  denied: 'grant.credentials_refused',
  unapproved: 'grant.credentials_refused',
  misconfigured: 'grant.provider_error',
  unavailable: 'grant.provider_unavailable',
  unexpected: 'grant.provider_error',
} as const satisfies Record<OauthFailure, string>;

const MOST_WORDS = 300;

/**
 * A request to an authorization server failed. `message` contains the server's words and no token.
 */
export class OauthError extends DomainError {
  readonly failure: OauthFailure;

  constructor(failure: OauthFailure, message: string) {
    const kind = failure === 'unavailable' ? 'unavailable' : 'invalid';
    super(`oauth.${failure}`, kind, message, {
      betaType: BETA_TYPES[failure],
      serverError: message,
    });
    this.failure = failure;
  }
}

/**
 * Converts an error of the library. The result does not include the server's response, which must
 * not be logged.
 */
export function toOauthError(error: unknown): unknown {
  if (error instanceof OauthError) return error;
  const oidc = openidClient();
  if (error instanceof oidc.AuthorizationResponseError) {
    const failure = error.error === 'consent_required' ? 'unapproved' : 'denied';
    return new OauthError(failure, wordsOf(error));
  }
  if (error instanceof oidc.ResponseBodyError)
    return new OauthError(failureOf(error), wordsOf(error));
  const egress = egressErrorOf(error);
  if (egress) {
    const failure = egress.kind === 'blocked' ? 'misconfigured' : 'unavailable';
    return new OauthError(failure, `the authorization server cannot be reached: ${egress.message}`);
  }
  if (!(error instanceof oidc.ClientError)) return error;
  const { cause } = error;
  const status = cause instanceof Response ? cause.status : null;
  if (status === null)
    return new OauthError('unexpected', `the authorization server: ${error.message}`);
  return new OauthError(
    isPassing(status) ? 'unavailable' : 'unexpected',
    `the authorization server answered ${status}`,
  );
}

function failureOf({ error, status }: ResponseBodyError): OauthFailure {
  if (isPassing(status)) return 'unavailable';
  return NEEDS_USER.includes(error) ? 'refused' : 'misconfigured';
}

/** RFC 6749 section 5.2, and OpenID Connect Core section 3.1.2.6, which Microsoft uses here too. */
const NEEDS_USER = ['invalid_grant', 'interaction_required', 'login_required', 'consent_required'];

const isPassing = (status: number): boolean => status === 429 || status >= 500;

function wordsOf({
  error,
  error_description,
}: ResponseBodyError | AuthorizationResponseError): string {
  const words = error_description ? `${error}: ${error_description}` : error;
  return storable(`the authorization server answered ${words}`, MOST_WORDS);
}

/** Finds the egress error inside the errors that the library wraps around it. */
function egressErrorOf(error: unknown): EgressError | null {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof EgressError) return at;
  return null;
}
