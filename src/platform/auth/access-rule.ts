import type { Scope } from './scopes.ts';

/** What a handler requires of the calling account. */
export interface AccessRule {
  /** The account needs one of these scopes; absent: it needs none. */
  anyScope?: readonly Scope[];
  /**
   * True if the handler changes something at the provider. Refused with 403 while the account's
   * grant is `invalid`.
   */
  write?: boolean;
  /**
   * True if the handler only revokes the caller's token. Every valid token may call it, whatever
   * the state of its account. An invalid token counts as a failed attempt of the client.
   */
  revokes?: boolean;
}

/** Metadata keys that the decorators set. */
export const ACCESS_RULE = 'carillon:access-rule';
export const PUBLIC_ROUTE = 'carillon:public-route';
