import type { AddressProof } from '../../../providers/port/sign-in/address-proof.ts';
import type { OauthTokens } from '../../../providers/port/sign-in/oauth-descriptor.ts';
import type { OrganizationUnit } from '../../../platform/auth/grant-status.ts';
import type { Scope } from '../../../platform/auth/scopes.ts';

/** An account's credentials as a request sends them. */
export interface AccountCredentials {
  provider: string;
  /** Empty if the provider itself finds it from the credentials. */
  email: string;
  /** Display name; if empty, the provider's name is used. */
  name: string;
  settings: Readonly<Record<string, unknown>>;
  /**
   * Names of settings that the request itself has read, such as the address. Default: none; then
   * every setting is for the provider.
   */
  settingsRead?: readonly string[];
  /**
   * Tokens of an account that has just signed in by OAuth. The account uses the servers of its
   * integration.
   */
  tokens?: OauthTokens;
  /**
   * The user's address according to the authorization server; absent or `null` if it reported none.
   */
  claimedEmail?: string | null;
  /** The subject that the authorization server reported; absent or `null` if it reported none. */
  subject?: string | null;
  /**
   * The scopes that the account will have, for tokens that are requested with them. Absent or
   * `null` for those of the integration.
   */
  scope?: readonly Scope[] | null | undefined;
  /**
   * IP address of the client; absent if the application authenticated with its secret. Only a few
   * checks run at a time for one address.
   */
  clientAddress?: string | undefined;
}

/** Credentials that the provider has accepted. Grants are created from them. */
export interface VerifiedCredentials {
  provider: string;
  /** Lower case. */
  email: string;
  name: string;
  organizationUnit: OrganizationUnit;
  /**
   * The settings as parsed by the connector's schema, completed with what the connector found out.
   */
  settings: Record<string, unknown>;
  /** Tokens of an account that has signed in by OAuth. */
  tokens?: OauthTokens;
  /**
   * The scopes that the user's consent at the provider covers. Absent or `null` if it covers every
   * scope, or if the provider does not tell.
   */
  covered?: readonly Scope[] | null;
  /** Identifies the user at the provider, whatever the address; absent or `null` if unknown. */
  subject?: string | null;
  /**
   * The proof that the mailbox belongs to the address; absent or `null` if there is none so far.
   */
  proof?: AddressProof | null;
}
