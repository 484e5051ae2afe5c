import { ForbiddenError } from '../base/errors/domain-error.ts';
import type { AccountPrincipal } from './principal.ts';
import { allows, type Scope } from './scopes.ts';

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

/** @throws {ForbiddenError} if the account may not call a handler with this rule */
export function assertAllowed(account: AccountPrincipal, rule?: AccessRule): void {
  if (account.billingState === 'cancelled')
    throw new ForbiddenError('account.cancelled', 'This account has been cancelled.');
  if (account.unproven)
    throw new ForbiddenError(
      'account.address-unproven',
      `This account cannot be used until it is proven that its mailbox belongs to ${account.email}.`,
    );
  if (rule?.anyScope && !allows(account.scopes, rule.anyScope))
    throw new ForbiddenError(
      'scope.missing',
      `This request needs one of the scopes ${rule.anyScope.join(', ')}, which the account has not granted.`,
    );
  if (rule?.write && account.grantStatus === 'invalid')
    throw new ForbiddenError(
      'grant.invalid',
      "This action can't be performed because the account's credentials are out of date: the user has to authenticate again.",
    );
}
