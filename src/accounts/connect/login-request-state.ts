import type { Transitions } from '../../platform/base/state/transitions.ts';

/**
 * - `open`: waits for somebody to sign in
 * - `authenticated`: the provider has accepted an account; whoever signed in has not agreed yet
 * - `finished`: agreed; the account is connected, or a code for it was given
 * - `failed`: it could not be connected; `reason` says why
 * - `cancelled`: whoever signed in did not want to
 */
export const LOGIN_REQUEST_STATES = [
  'open',
  'authenticated',
  'finished',
  'failed',
  'cancelled',
] as const;
export type LoginRequestState = (typeof LOGIN_REQUEST_STATES)[number];

/** Every move there is. A request that has expired makes none. */
export const LOGIN_REQUEST_TRANSITIONS: Transitions<LoginRequestState> = {
  // To itself: somebody goes to a provider, and may go again.
  open: ['open', 'authenticated', 'failed', 'cancelled'],
  // Also back: another account may be chosen before agreeing.
  authenticated: ['open', 'authenticated', 'finished', 'failed', 'cancelled'],
  finished: [],
  failed: [],
  cancelled: [],
};

/** How a request was made, and so what the application gets in the end. */
export const LOGIN_FLOWS = ['connect', 'oauth'] as const;
/** `connect`: by `POST /connect/auth`, for a grant; `oauth`: by `GET /oauth/authorize`, for a code or a token. */
export type LoginFlow = (typeof LOGIN_FLOWS)[number];

/** What `GET /oauth/authorize` answers with: a code to be exchanged, or the access token itself. */
export const RESPONSE_TYPES = ['code', 'token'] as const;
export type ResponseType = (typeof RESPONSE_TYPES)[number];
