/** How a client proves itself at the token endpoint (RFC 7591's `token_endpoint_auth_method`). */
export const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post'] as const;
export type ClientAuthMethod = (typeof CLIENT_AUTH_METHODS)[number];

/** An authorization server, and an application's registration there. */
export interface OauthRegistration {
  /** Found by its issuer (OpenID Connect Discovery 1.0), or named by its endpoints (plain OAuth 2.0: no id token). */
  server: { issuer: string } | OauthEndpoints;
  clientId: string;
  /** Null: a public client. */
  clientSecret: string | null;
  /** Null: as the server says, else `client_secret_basic` (RFC 6749, 2.3.1). */
  clientAuth: ClientAuthMethod | null;
  /** What the user is asked for: names separated by spaces. */
  scope: string;
}

/** Endpoints of a server without discovery. */
export interface OauthEndpoints {
  authorizationEndpoint: string;
  tokenEndpoint: string;
  /** RFC 7009; null: it cannot be told that tokens are not used any more. */
  revocationEndpoint: string | null;
}

/** Tokens of an account. Secrets: sealed wherever they are stored, never logged. */
export interface OauthTokens {
  accessToken: string;
  /** Null: once the access token has expired, the user has to sign in again. */
  refreshToken: string | null;
  /** When they were asked for: Unix milliseconds. */
  obtainedAt: number;
  /** Unix milliseconds; null: the server has not said. */
  expiresAt: number | null;
}
