import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import * as oidc from 'openid-client';
import { EgressClient } from '../../platform/egress/egress-client.ts';
import { Clock, monotonicMs } from '../../platform/base/time/clock.ts';
import { egressFetch } from './egress-fetch.ts';
import { OauthError, toOauthError } from './oauth-error.ts';
import type { OauthRegistration, OauthTokens } from './oauth-registration.ts';

/** The URL of the sign-in, with values that the login request stores and never shows. */
export interface AuthorizationRequest {
  url: string;
  /** PKCE code verifier (RFC 7636). */
  pkceVerifier: string;
  /** Binds the id token to this sign-in; `null` if no id token is requested. */
  nonce: string | null;
}

/** The parameters sent to the redirect address, and the values they must match. */
export interface AuthorizationReturn {
  /** Query of the request to the redirect address. */
  parameters: URLSearchParams;
  /** The same redirect address as in the authorization request. */
  redirectUri: string;
  /** The `state` of the authorization request. */
  state: string;
  pkceVerifier: string;
  nonce: string | null;
}

/** The user who has signed in, and the tokens. */
export interface SignedIn {
  tokens: OauthTokens;
  /**
   * The address from the id token, in lower case; `null` if it contains none. It may be an address
   * that the server does not report as verified, but never one it reports as unverified. The mail
   * server decides: it must accept the token for this address.
   */
  email: string | null;
  name: string | null;
}

/** How long server metadata is cached, and for how many registrations. */
const KEPT_MS = 10 * 60_000;
const MOST_KEPT = 1_000;
const TIMEOUT_SECONDS = 10;

interface Kept {
  sinceMs: number;
  configuration: Promise<oidc.Configuration>;
}

/**
 * The client side of OAuth 2.0 and OpenID Connect, by openid-client: code flow with PKCE, refresh
 * and revocation. Every method uses the network, so do not call one inside a transaction. Every
 * method throws `OauthError`.
 */
@Injectable()
export class OauthClients {
  readonly #fetch: oidc.CustomFetch;
  readonly #kept = new Map<string, Kept>();

  constructor(
    egress: EgressClient,
    private readonly clock: Clock,
  ) {
    this.#fetch = egressFetch(egress);
  }

  /**
   * The URL to which a user is sent to sign in.
   * @param options.loginHint the address that the user has typed; `null` if none
   * @param options.state unguessable, valid once
   * @throws {OauthError} if the server's metadata cannot be read
   */
  authorizationUrl(
    registration: OauthRegistration,
    options: { redirectUri: string; state: string; loginHint: string | null },
  ): Promise<AuthorizationRequest> {
    return this.#with(registration, async (configuration) => {
      const pkceVerifier = oidc.randomPKCECodeVerifier();
      const asksIdToken = registration.scope.split(/\s+/).includes('openid');
      const nonce = asksIdToken ? oidc.randomNonce() : null;
      const url = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: options.redirectUri,
        scope: registration.scope,
        state: options.state,
        code_challenge: await oidc.calculatePKCECodeChallenge(pkceVerifier),
        code_challenge_method: 'S256',
        // Servers give a refresh token only if the user is asked for consent (OpenID Connect Core
        // 11). Google gives one only with both parameters.
        prompt: 'consent',
        access_type: 'offline',
        ...(nonce ? { nonce } : {}),
        ...(options.loginHint ? { login_hint: options.loginHint } : {}),
      });
      return { url: url.href, pkceVerifier, nonce };
    });
  }

  /**
   * Exchanges the code of a returned user for tokens.
   * @throws {OauthError} `denied` if the user has not agreed; `refused` if the code is invalid;
   *   `misconfigured` also if there is no refresh token, because the account would stop working
   *   within hours
   */
  exchange(registration: OauthRegistration, returned: AuthorizationReturn): Promise<SignedIn> {
    return this.#with(registration, async (configuration) => {
      const { parameters, redirectUri, state, pkceVerifier, nonce } = returned;
      const url = new URL(redirectUri);
      url.search = parameters.toString();
      const asked = this.clock.now().getTime();
      const answer = await oidc.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        pkceCodeVerifier: pkceVerifier,
        ...(nonce === null ? {} : { expectedNonce: nonce, idTokenExpected: true }),
      });
      const tokens = tokensOf(answer, asked, null);
      if (tokens.refreshToken === null) {
        throw new OauthError('misconfigured', 'the authorization server gave no refresh token');
      }
      return { tokens, ...whoIs(answer.claims()) };
    });
  }

  /**
   * Exchanges a refresh token for new tokens. If the server returns a new refresh token, the old
   * one is used up, so store the result before anything else.
   * @throws {OauthError} `refused` if the refresh token is no longer valid
   */
  async refresh(
    registration: OauthRegistration,
    { refreshToken }: OauthTokens,
  ): Promise<OauthTokens> {
    if (refreshToken === null) {
      throw new OauthError(
        'refused',
        'the access token has expired, and there is no refresh token',
      );
    }
    // The user is already known. An error in new claims about the user must not lose the tokens.
    return this.#with(registration, async (configuration) => {
      const asked = this.clock.now().getTime();
      return tokensOf(
        await oidc.refreshTokenGrant(configuration, refreshToken),
        asked,
        refreshToken,
      );
    });
  }

  /**
   * Gets tokens for a refresh token that the application received from the user. This may use up
   * the refresh token.
   * @throws {OauthError} same as `refresh`
   */
  signInWith(registration: OauthRegistration, refreshToken: string): Promise<SignedIn> {
    return this.#with(registration, async (configuration) => {
      const asked = this.clock.now().getTime();
      const answer = await oidc.refreshTokenGrant(configuration, refreshToken);
      return { tokens: tokensOf(answer, asked, refreshToken), ...whoIs(answer.claims()) };
    });
  }

  /**
   * Asks the server to revoke the tokens (RFC 7009).
   * @returns `false` if the server does not support revocation
   */
  revoke(
    registration: OauthRegistration,
    { refreshToken, accessToken }: OauthTokens,
  ): Promise<boolean> {
    return this.#with(registration, async (configuration) => {
      if (!configuration.serverMetadata().revocation_endpoint) return false;
      await oidc.tokenRevocation(configuration, refreshToken ?? accessToken);
      return true;
    });
  }

  async #with<T>(
    registration: OauthRegistration,
    work: (configuration: oidc.Configuration) => Promise<T>,
  ): Promise<T> {
    try {
      return await work(await this.#configuration(registration));
    } catch (error) {
      throw toOauthError(error);
    }
  }

  #configuration(registration: OauthRegistration): Promise<oidc.Configuration> {
    // The key is a hash, because the registration contains a secret.
    const key = createHash('sha256').update(JSON.stringify(registration)).digest('base64');
    const now = monotonicMs();
    const kept = this.#kept.get(key);
    if (kept && now - kept.sinceMs < KEPT_MS) return kept.configuration;
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    const configuration = this.#discover(registration);
    const entry = { sinceMs: now, configuration };
    this.#kept.set(key, entry);
    configuration.catch(() => {
      if (this.#kept.get(key) === entry) this.#kept.delete(key);
    });
    return configuration;
  }

  async #discover(registration: OauthRegistration): Promise<oidc.Configuration> {
    const { server, clientId, clientSecret } = registration;
    const secret = clientSecret ?? undefined;
    const auth = clientAuthOf(registration);
    if ('issuer' in server) {
      const found = await oidc.discovery(new URL(server.issuer), clientId, secret, auth, {
        [oidc.customFetch]: this.#fetch,
        timeout: TIMEOUT_SECONDS,
        // The egress policy decides which hosts may be used without TLS.
        execute: [oidc.allowInsecureRequests],
      });
      const { authorization_endpoint, token_endpoint } = found.serverMetadata();
      if (!authorization_endpoint || !token_endpoint) {
        throw new OauthError(
          'misconfigured',
          'the issuer names no authorization or no token endpoint',
        );
      }
      return found;
    }
    const metadata: oidc.ServerMetadata = {
      // Has no meaning without id tokens, but the library requires a value.
      issuer: new URL(server.tokenEndpoint).origin,
      authorization_endpoint: server.authorizationEndpoint,
      token_endpoint: server.tokenEndpoint,
      ...(server.revocationEndpoint ? { revocation_endpoint: server.revocationEndpoint } : {}),
    };
    const configuration = new oidc.Configuration(metadata, clientId, secret, auth);
    configuration[oidc.customFetch] = this.#fetch;
    configuration.timeout = TIMEOUT_SECONDS;
    oidc.allowInsecureRequests(configuration);
    return configuration;
  }
}

function clientAuthOf({ clientSecret, clientAuth }: OauthRegistration): oidc.ClientAuth {
  if (clientSecret === null) return oidc.None();
  const basic = oidc.ClientSecretBasic(clientSecret);
  const post = oidc.ClientSecretPost(clientSecret);
  return (server, ...rest) => {
    const known = server.token_endpoint_auth_methods_supported;
    const usual =
      known && !known.includes('client_secret_basic')
        ? 'client_secret_post'
        : 'client_secret_basic';
    const chosen = (clientAuth ?? usual) === 'client_secret_post' ? post : basic;
    chosen(server, ...rest);
  };
}

/**
 * @param before the refresh token that stays valid if the server returns no new one (RFC 6749, 6)
 */
function tokensOf(
  answer: oidc.TokenEndpointResponse,
  askedMs: number,
  before: string | null,
): OauthTokens {
  const { access_token, refresh_token, expires_in } = answer;
  return {
    accessToken: access_token,
    refreshToken: refresh_token ?? before,
    obtainedAt: askedMs,
    expiresAt: expires_in === undefined ? null : askedMs + expires_in * 1000,
  };
}

function whoIs(claims: oidc.IDToken | undefined): Pick<SignedIn, 'email' | 'name'> {
  if (!claims) return { email: null, name: null };
  const { email, email_verified: verified, name } = claims;
  if (verified === false || verified === 'false') {
    throw new OauthError(
      'denied',
      'the authorization server has not verified the address of this user',
    );
  }
  return {
    email: typeof email === 'string' && email.trim() ? email.trim().toLowerCase() : null,
    name: typeof name === 'string' && name.trim() ? name.trim().slice(0, 200) : null,
  };
}
