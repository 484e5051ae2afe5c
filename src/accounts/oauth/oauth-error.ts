import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { EgressError } from '../../platform/egress/egress-error.ts';
import { storable } from '../../platform/base/text/storable.ts';

/**
 * Why an authorization server did not do what it was asked; a closed list.
 *
 * - `refused`: the code or token is not good (any more) (`invalid_grant`): the user has to sign in again
 * - `denied`: the user, or the server for them, said no (`access_denied`, and what else the redirect may bring)
 * - `misconfigured`: it does not accept the application's registration or what it asks for
 * - `unavailable`: no answer, or a 429 or 5xx one: may go away by itself
 * - `unexpected`: an answer that is not what the protocol says, or not for this request
 */
export type OauthFailure = 'refused' | 'denied' | 'misconfigured' | 'unavailable' | 'unexpected';

const BETA_TYPES = {
  refused: 'grant.credentials_refused',
  denied: 'grant.credentials_refused',
  misconfigured: 'grant.provider_error',
  unavailable: 'grant.provider_unavailable',
  unexpected: 'grant.provider_error',
} as const satisfies Record<OauthFailure, string>;

const MOST_WORDS = 300;

/** An exchange with an authorization server failed. `message` has the server's words and no token. */
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

/** What the library threw, without the answer it may hold: that is not for logs. */
export function toOauthError(error: unknown): unknown {
  if (error instanceof OauthError) return error;
  if (error instanceof AuthorizationResponseError) return new OauthError('denied', wordsOf(error));
  if (error instanceof ResponseBodyError) return new OauthError(failureOf(error), wordsOf(error));
  const egress = egressErrorOf(error);
  if (egress) {
    const failure = egress.kind === 'blocked' ? 'misconfigured' : 'unavailable';
    return new OauthError(failure, `the authorization server cannot be reached: ${egress.message}`);
  }
  if (!(error instanceof ClientError)) return error;
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
  return error === 'invalid_grant' ? 'refused' : 'misconfigured';
}

const isPassing = (status: number): boolean => status === 429 || status >= 500;

function wordsOf({
  error,
  error_description,
}: ResponseBodyError | AuthorizationResponseError): string {
  const words = error_description ? `${error}: ${error_description}` : error;
  return storable(`the authorization server answered ${words}`, MOST_WORDS);
}

/** The library wraps what its `fetch` throws. */
function egressErrorOf(error: unknown): EgressError | null {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof EgressError) return at;
  return null;
}
