import type { LoginRequest } from '../links/login-request.entity.ts';

/** Error code that the application gets if a sign-in fails (RFC 6749 4.1.2.1). */
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
    // Replace or remove parameters that the redirect address already has.
    if (value === null || value === undefined) parameters.delete(name);
    else parameters.set(name, value);
  }
  if (part === 'hash') url.hash = parameters.toString();
  return url.href;
}

/** Redirect URL after a successful sign-in. */
export function successAddress(request: Asked, values: Values): string {
  const success = request.flow === 'connect' ? { success: 'true' } : {};
  return appended(
    request.redirectUri,
    { ...success, ...values, state: request.clientState, error: null, error_description: null },
    'search',
  );
}

/**
 * Redirect URL with an access token. The token is in the fragment, after `#`, so browsers do not
 * send it to servers and it appears in no server log (RFC 6749 4.2.2).
 */
export function tokenAddress(request: Asked, values: Values): string {
  return appended(request.redirectUri, { ...values, state: request.clientState }, 'hash');
}

/** Redirect URL after a failed sign-in. */
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
