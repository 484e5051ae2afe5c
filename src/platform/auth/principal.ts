import type { Request } from 'express';
import type { ApplicationFeature, Plan } from './plan.ts';
import type { Region } from '../config/app-config.ts';
import type { BillingState, GrantStatus, OrganizationUnit } from './grant-status.ts';
import type { Scope } from './scopes.ts';

/** The application that called with its own credentials. */
export interface ApplicationPrincipal {
  kind: 'application';
  applicationId: string;
  clientId: string;
  plan: Plan;
  /** Whose integrations address it uses. */
  region: Region;
  features: readonly ApplicationFeature[];
}

/** The account that called with an access token. Everything it may see carries its `accountId`. */
export interface AccountPrincipal {
  kind: 'account';
  accountId: string;
  applicationId: string;
  clientId: string;
  provider: string;
  email: string;
  name: string;
  organizationUnit: OrganizationUnit;
  grantStatus: GrantStatus;
  billingState: BillingState;
  /** Null: every scope. The grant's own, else the integration's (spec 5), as far as the user has agreed to them. */
  scopes: readonly Scope[] | null;
  features: readonly ApplicationFeature[];
  /** The integration requires a proven address, and this one is not proven: everything is refused. */
  unproven: boolean;
}

export type Principal = ApplicationPrincipal | AccountPrincipal;

/** Who authenticated this request, if anybody. */
export function principalOf(request: Request): Principal | undefined {
  return request.user as Principal | undefined;
}
