import type { Scope } from './scopes.ts';

/** What a handler needs from the account that calls it. */
export interface AccessRule {
  /** Any one of these scopes; absent: none is needed. */
  anyScope?: readonly Scope[];
  /** Whether it changes something at the provider: refused (403) while the account's credentials are out of date. */
  write?: boolean;
  /**
   * Whether all it does is to give up the caller's token. Then every working token may, whatever the state of its account; and
   * wrong tokens count as failed attempts of the client.
   */
  revokes?: boolean;
}

/** Metadata keys of the decorators. */
export const ACCESS_RULE = 'carillon:access-rule';
export const PUBLIC_ROUTE = 'carillon:public-route';
