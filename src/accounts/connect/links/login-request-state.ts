import type { Transitions } from '../../../platform/base/state/transitions.ts';

/**
 * States of a login request.
 *
 * - `open`: waiting for a user to sign in
 * - `authenticated`: the provider has accepted an account, and the user has not agreed yet
 * - `finished`: the user has agreed, and the account is connected or a code for it was issued
 * - `failed`: the account could not be connected; `reason` says why
 * - `cancelled`: the user declined
 */
export const LOGIN_REQUEST_STATES = [
  'open',
  'authenticated',
  'finished',
  'failed',
  'cancelled',
] as const;
export type LoginRequestState = (typeof LOGIN_REQUEST_STATES)[number];

/** Every allowed transition. An expired request has none. */
export const LOGIN_REQUEST_TRANSITIONS: Transitions<LoginRequestState> = {
  // `open` to `open`: the user goes to a provider, and may go again.
  open: ['open', 'authenticated', 'failed', 'cancelled'],
  // Back to `open`: the user may choose another account before agreeing.
  authenticated: ['open', 'authenticated', 'finished', 'failed', 'cancelled'],
  finished: [],
  failed: [],
  cancelled: [],
};

/** How a request was created. It decides what the application gets in the end. */
export const LOGIN_FLOWS = ['connect', 'oauth'] as const;
/**
 * `connect`: created by `POST /connect/auth`, results in a grant. `oauth`: created by `GET
 * /oauth/authorize`, results in a code or a token.
 */
export type LoginFlow = (typeof LOGIN_FLOWS)[number];

/** The result of `GET /oauth/authorize`: a code to exchange, or the access token itself. */
export const RESPONSE_TYPES = ['code', 'token'] as const;
export type ResponseType = (typeof RESPONSE_TYPES)[number];
