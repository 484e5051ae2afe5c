import type { LoginRequest } from './login-request.entity.ts';

/** Why a sign-in did not end well, as the application is told (RFC 6749 4.1.2.1). */
export type ReturnError =
  | 'access_denied'
  | 'invalid_request'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_response_type'
  | 'server_error'
  | 'temporarily_unavailable';

type Values = Readonly<Record<string, string | null | undefined>>;

type Asked = Pick<LoginRequest, 'flow' | 'redirectUri' | 'clientState'>;

function appended(redirectUri: string, values: Values, part: 'search' | 'hash'): string {
  const url = new URL(redirectUri);
  const parameters = part === 'search' ? url.searchParams : new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    // An address that has such a parameter already does not decide what we say.
    if (value === null || value === undefined) parameters.delete(name);
    else parameters.set(name, value);
  }
  if (part === 'hash') url.hash = parameters.toString();
  return url.href;
}

/** Where the browser goes with what was asked for. */
export function successAddress(request: Asked, values: Values): string {
  const success = request.flow === 'connect' ? { success: 'true' } : {};
  return appended(
    request.redirectUri,
    { ...success, ...values, state: request.clientState, error: null, error_description: null },
    'search',
  );
}

/**
 * Where the browser goes with an access token: behind `#`, which is not sent to servers and stands in none of their logs (RFC 6749
 * 4.2.2).
 */
export function tokenAddress(request: Asked, values: Values): string {
  return appended(request.redirectUri, { ...values, state: request.clientState }, 'hash');
}

/** Where the browser goes when it came to nothing. */
export function failureAddress(request: Asked, error: ReturnError, description: string): string {
  const success = request.flow === 'connect' ? { success: 'false' } : {};
  return appended(
    request.redirectUri,
    {
      ...success,
      error,
      error_description: description,
      state: request.clientState,
      code: null,
      grant_id: null,
    },
    'search',
  );
}
