/** How a client authenticates at the token endpoint (RFC 7591's `token_endpoint_auth_method`). */
export const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post'] as const;
export type ClientAuthMethod = (typeof CLIENT_AUTH_METHODS)[number];

/** An authorization server, and an application's registration there. */
export interface OauthRegistration {
  /**
   * Identified by its issuer (OpenID Connect Discovery 1.0), or by its endpoints (plain OAuth 2.0
   * without id tokens).
   */
  server: { issuer: string } | OauthEndpoints;
  clientId: string;
  /** `null` for a public client. */
  clientSecret: string | null;
  /**
   * `null` for the method that the server reports, else `client_secret_basic` (RFC 6749, 2.3.1).
   */
  clientAuth: ClientAuthMethod | null;
  /** Scopes that the user is asked for, separated by spaces. */
  scope: string;
}

/** Endpoints of a server without discovery. */
export interface OauthEndpoints {
  authorizationEndpoint: string;
  tokenEndpoint: string;
  /** RFC 7009; `null` if the server cannot revoke tokens. */
  revocationEndpoint: string | null;
}

/** Tokens of an account. They are secrets: stored encrypted, never logged. */
export interface OauthTokens {
  accessToken: string;
  /**
   * `null` if there is none. Then the user has to sign in again when the access token has expired.
   */
  refreshToken: string | null;
  /** When the tokens were requested, in Unix milliseconds. */
  obtainedAt: number;
  /** Unix milliseconds; `null` if the server did not report an expiry. */
  expiresAt: number | null;
}
