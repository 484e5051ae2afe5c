import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import * as oidc from 'openid-client';
import { EgressClient } from '../../platform/egress/egress-client.ts';
import { Clock, monotonicMs } from '../../platform/base/time/clock.ts';
import { egressFetch } from './egress-fetch.ts';
import { OauthError, toOauthError } from './oauth-error.ts';
import type { OauthRegistration, OauthTokens } from './oauth-registration.ts';

/** Where a user is sent to sign in; what belongs to it is kept with the login request, and never shown. */
export interface AuthorizationRequest {
  url: string;
  /** PKCE code verifier (RFC 7636). */
  pkceVerifier: string;
  /** Ties the id token to this sign-in; null: none is asked for. */
  nonce: string | null;
}

/** What came back to the redirect address, and what it has to fit. */
export interface AuthorizationReturn {
  /** Query of the request to the redirect address. */
  parameters: URLSearchParams;
  /** The same address as in the authorization request. */
  redirectUri: string;
  /** The `state` of the authorization request. */
  state: string;
  pkceVerifier: string;
  nonce: string | null;
}

/** Who has signed in, and with what. */
export interface SignedIn {
  tokens: OauthTokens;
  /**
   * The address of the id token, in lower case; null: it has none. Also one that the server does not say is verified, but
   * never one it says is not: the mailbox itself has the last word, by accepting the token for this address.
   */
  email: string | null;
  name: string | null;
}

/** What is known of a server is kept this long, of this many registrations. */
const KEPT_MS = 10 * 60_000;
const MOST_KEPT = 1_000;
const TIMEOUT_SECONDS = 10;

interface Kept {
  sinceMs: number;
  configuration: Promise<oidc.Configuration>;
}

/**
 * The client side of OAuth 2.0 and OpenID Connect, by openid-client: code flow with PKCE, refreshing, revoking. Every
 * method talks to the network, so none belongs inside a transaction; every one throws `OauthError`.
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
   * @param options.loginHint the address the user has typed; null: none
   * @param options.state unguessable, and good once
   * @throws {OauthError} when the server cannot be asked about itself
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
        // A refresh token is only given when the user is asked (OpenID Connect Core 11), and by Google only to these.
        prompt: 'consent',
        access_type: 'offline',
        ...(nonce ? { nonce } : {}),
        ...(options.loginHint ? { login_hint: options.loginHint } : {}),
      });
      return { url: url.href, pkceVerifier, nonce };
    });
  }

  /**
   * Turns the return of a user into tokens.
   * @throws {OauthError} `denied` when the user has not agreed; `refused` when the code is not good; `misconfigured` also
   *   when there is no refresh token, without which the account would stop working within hours
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
   * New tokens for old. Where the server gives a new refresh token, the old one is used up: store the answer before
   * anything else.
   * @throws {OauthError} `refused` when the refresh token is not good any more
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
    // Whose they are has been found out: an answer with new words about the user is no reason to lose its tokens.
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
   * Tokens for a refresh token that somebody else has got from the user; it may be used up by this.
   * @throws {OauthError} as `refresh`
   */
  signInWith(registration: OauthRegistration, refreshToken: string): Promise<SignedIn> {
    return this.#with(registration, async (configuration) => {
      const asked = this.clock.now().getTime();
      const answer = await oidc.refreshTokenGrant(configuration, refreshToken);
      return { tokens: tokensOf(answer, asked, refreshToken), ...whoIs(answer.claims()) };
    });
  }

  /**
   * Tells the server that the tokens are not used any more (RFC 7009).
   * @returns false when it cannot be told
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
    // A hash, because the secret is part of it.
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
        // The egress policy says which hosts may be asked without TLS.
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
      // Has no meaning without id tokens, but the library wants one.
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

/** @param before the refresh token that goes on where the server gives no other (RFC 6749, 6) */
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
