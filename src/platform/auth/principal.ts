import type { Request } from 'express';
import type { ApplicationFeature, Plan } from './plan.ts';
import type { Region } from '../config/app-config.ts';
import type { BillingState, GrantStatus, OrganizationUnit } from './grant-status.ts';
import type { Scope } from './scopes.ts';

/** The application that authenticated with its own credentials. */
export interface ApplicationPrincipal {
  kind: 'application';
  applicationId: string;
  clientId: string;
  plan: Plan;
  /** Region whose integrations address the application uses. */
  region: Region;
  features: readonly ApplicationFeature[];
}

/**
 * The account that authenticated with an access token. The account may see only objects with its
 * `accountId`.
 */
export interface AccountPrincipal {
  kind: 'account';
  /** Id of the access token; it cannot be used as a token. */
  tokenId: string;
  accountId: string;
  applicationId: string;
  clientId: string;
  provider: string;
  email: string;
  name: string;
  organizationUnit: OrganizationUnit;
  grantStatus: GrantStatus;
  billingState: BillingState;
  /**
   * Scopes of the grant, or else of the integration, limited to those that the user has agreed to.
   * `null` = every scope.
   */
  scopes: readonly Scope[] | null;
  features: readonly ApplicationFeature[];
  /**
   * True if the integration requires a proven address and this account's address is not proven.
   * Every request is then refused.
   */
  unproven: boolean;
}

export type Principal = ApplicationPrincipal | AccountPrincipal;

/** The application or account that authenticated this request; `undefined` if there is none. */
export function principalOf(request: Request): Principal | undefined {
  return request.user as Principal | undefined;
}
