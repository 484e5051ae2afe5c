import type { AddressProof } from '../../providers/port/address-proof.ts';
import type { OauthTokens } from '../oauth/oauth-registration.ts';
import type { OrganizationUnit } from '../../platform/auth/grant-status.ts';

/** An account's credentials as a request carries them. */
export interface AccountCredentials {
  provider: string;
  /** Empty where the provider itself knows it from the credentials. */
  email: string;
  /** Display name; empty: the provider's. */
  name: string;
  settings: Readonly<Record<string, unknown>>;
  /** Of an account that has just signed in by OAuth; its servers are those of its integration. */
  tokens?: OauthTokens;
  /** The address that the authorization server says this user has; absent or null: it says none. */
  claimedEmail?: string | null;
  /** Address of the client; absent: the application has sent its secret. Few checks run at a time for one address. */
  clientAddress?: string | undefined;
}

/** Credentials that the provider has accepted: what grants are made from. */
export interface VerifiedCredentials {
  provider: string;
  /** Lower case. */
  email: string;
  name: string;
  organizationUnit: OrganizationUnit;
  /** What the connector's schema made of them, completed by what it found out. */
  settings: Record<string, unknown>;
  /** Of an account that has signed in by OAuth. */
  tokens?: OauthTokens;
  /** What proves that the mailbox is that of the address; absent or null: nothing so far. */
  proof?: AddressProof | null;
}
