import type { Scope } from '../../../platform/auth/scopes.ts';
import type { IntegrationValues } from './integration-descriptor.ts';

/** How a client authenticates at the token endpoint (RFC 7591's `token_endpoint_auth_method`). */
export const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post'] as const;
export type ClientAuthMethod = (typeof CLIENT_AUTH_METHODS)[number];

/** How Carillon proves to an authorization server that it is the registered client. */
export type ClientAuthentication =
  /** A public client (RFC 8252): sends its id only. */
  | { kind: 'none' }
  /**
   * Sends nothing at all, because the credential itself names the client (RFC 7523 section 2.1).
   */
  | { kind: 'credential' }
  /**
   * `method` is `null` for the method that the server reports, else `client_secret_basic` (RFC
   * 6749, 2.3.1).
   */
  | { kind: 'secret'; secret: string; method: ClientAuthMethod | null }
  /**
   * `private_key_jwt` (RFC 7523 section 2.2) with a certificate: an assertion signed by PS256,
   * whose header has the SHA-256 thumbprint of the certificate (`x5t#S256`). Both values are PEM
   * texts.
   */
  | { kind: 'certificate'; privateKey: string; certificate: string };

/** Endpoints of a server without discovery. */
export interface OauthEndpoints {
  authorizationEndpoint: string;
  tokenEndpoint: string;
  /** RFC 7009; `null` if the server cannot revoke tokens. */
  revocationEndpoint: string | null;
}

/** An authorization server, and an application's registration there. */
export interface OauthRegistration {
  /**
   * Identified by its issuer (OpenID Connect Discovery 1.0), or by its endpoints (plain OAuth 2.0
   * without id tokens). `tenantIssuer` accepts discovery documents whose issuer has the placeholder
   * `{tenantid}`: id tokens must then come from the tenant that their claim `tid` names.
   */
  server: { issuer: string; tenantIssuer?: boolean } | OauthEndpoints;
  clientId: string;
  authentication: ClientAuthentication;
}

/** What is exchanged for access tokens. Every value is a secret. */
export type OauthCredential =
  | { kind: 'refresh-token'; refreshToken: string }
  /** An assertion signed by RS256 (RFC 7523 section 2.1), such as that of a service account. */
  | {
      kind: 'jwt-bearer';
      issuer: string;
      /** Address of the user to act for. */
      subject: string;
      keyId: string | null;
      /** PEM text. */
      privateKey: string;
      scope: string;
    }
  /** RFC 6749 section 4.4: the client acts for itself, with its own authentication. */
  | { kind: 'client-credentials'; scope: string };

/** The settings that decide how an account gets its tokens. */
export interface OauthSource {
  /** The application's integration for the provider, with its secrets; `null` if there is none. */
  integration: IntegrationValues | null;
  /**
   * Settings that the account brought itself, such as client credentials of its own; `null` if it
   * has none. They are stored encrypted with the tokens.
   */
  own: Readonly<Record<string, unknown>> | null;
}

/** An account that gets tokens without sending its user to the provider. */
export interface DirectSignIn {
  registration: OauthRegistration;
  credential: OauthCredential;
  /** What to store as `OauthSource.own`; never contains a refresh token. */
  own: Readonly<Record<string, unknown>> | null;
  /**
   * Whether the credential belongs to the integration and not to the account. It then opens any
   * mailbox, so only a request with the application's secret may use it.
   */
  ofIntegration: boolean;
}

/** The user that the authorization server reports. */
export interface OauthIdentity {
  /** A value that stays the same if the user's address changes; `null` if there is none. */
  subject: string | null;
  /**
   * In lower case; `null` if the server reported none. The connector's `verify` has the last word.
   */
  email: string | null;
  name: string | null;
}

/**
 * How accounts of a provider sign in by OAuth. Uses no network; features pass it settings and
 * receive data (ADR 0074).
 */
export interface OauthDescriptor {
  /**
   * The client that accounts use.
   * @returns `null` if these settings do not sign in by OAuth. Its users are then offered no sign-
   *   in at the provider
   */
  registration(source: OauthSource): OauthRegistration | null;
  /**
   * The provider's scopes to ask for, always with those that identify the user.
   * @param scopes `null` for every scope
   */
  scopesFor(scopes: readonly Scope[] | null, source: OauthSource): readonly string[];
  /**
   * The scopes here that the provider's scopes cover. `null` for every scope: the provider does not
   * ask its users about single scopes.
   */
  covered(granted: readonly string[]): readonly Scope[] | null;
  /** Further parameters of the authorization request, such as `access_type` and `prompt`. */
  authorizationParameters(ask: AuthorizationAsk): Readonly<Record<string, string>>;
  /**
   * Reads the claims of a verified id token.
   * @returns `'unverified'` if the server says that the address is not the user's
   */
  identity(claims: Readonly<Record<string, unknown>>): OauthIdentity | 'unverified';
  /**
   * How these settings of a request get tokens without a page.
   * @param account `email` is empty if the request has none; `scopes` are those of `scopesFor`
   * @returns `null` if the settings sign in in another way, such as with a password
   * @throws {InvalidInputError} naming a setting that is missing or cannot be used
   */
  direct(
    settings: Readonly<Record<string, unknown>>,
    integration: IntegrationValues | null,
    account: { email: string; scopes: readonly Scope[] | null },
  ): DirectSignIn | null;
  /**
   * The credential of an account that has no refresh token, made again from what was stored.
   * @returns `null` if its user has to sign in again
   */
  renewal(
    source: OauthSource,
    account: { email: string; scopes: readonly string[] },
  ): OauthCredential | null;
  /**
   * Names of settings that only sign-in uses. They are kept with the tokens and never reach
   * `settingsSchema`.
   */
  readonly signInSettings: readonly string[];
  /**
   * Whether accounts that sign in with one of `signInSettings` take all their settings from the
   * integration, so that other settings of a request have no effect. Default `false`.
   */
  readonly hasOnlySignInSettings?: boolean;
  /**
   * Whether revoking one token revokes all tokens that the client has of this user. Then tokens are
   * revoked only with the user's last account. Default `false`.
   */
  readonly revokesWholeConsent?: boolean;
  /** The settings of an account that has signed in, for `settingsSchema` and `verify`. */
  accountSettings(
    source: OauthSource,
    account: { email: string; settings: Readonly<Record<string, unknown>> },
  ): Record<string, unknown>;
}

/** What is known when a user is sent to the provider. */
export interface AuthorizationAsk {
  source: OauthSource;
  /** The address that the user or the application named; `null` if none. */
  loginHint: string | null;
  /**
   * Whether the user has come back without a refresh token, or without the scopes that are needed,
   * and has to be asked for consent again.
   */
  again: boolean;
}

/** Tokens of an account. They are secrets: stored encrypted, never logged. */
export interface OauthTokens {
  accessToken: string;
  /**
   * `null` if there is none: new tokens come from `OauthDescriptor.renewal`, else from the user.
   */
  refreshToken: string | null;
  /** When the tokens were requested, in Unix milliseconds. */
  obtainedAt: number;
  /** Unix milliseconds; `null` if the server did not report an expiry. */
  expiresAt: number | null;
  /** The provider's scopes of the token. Absent or `null` if they are not known. */
  scopes?: readonly string[] | null;
  /** See `OauthSource.own`. Absent or `null` for an account of the integration's client. */
  own?: Readonly<Record<string, unknown>> | null;
}
