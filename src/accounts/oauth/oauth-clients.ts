import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type * as oidc from 'openid-client';
import { openidClient } from './openid-client.ts';
import { EgressClient } from '../../platform/egress/egress-client.ts';
import { Clock, monotonicMs } from '../../platform/base/time/clock.ts';
import { egressFetch } from './egress-fetch.ts';
import type {
  OauthCredential,
  OauthRegistration,
  OauthTokens,
} from '../../providers/port/sign-in/oauth-descriptor.ts';
import { clientAuthOf, jwtAssertion } from './client-authentication.ts';
import { OauthError, toOauthError } from './oauth-error.ts';

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
  /** The server's scopes that were asked for. */
  scopes: readonly string[];
}

/** A user who has signed in. */
export interface SignedIn {
  tokens: OauthTokens;
  /** The claims of the id token; `null` if there is none. `OauthDescriptor.identity` reads them. */
  claims: Readonly<Record<string, unknown>> | null;
}

/** How long server metadata is cached, and for how many registrations. */
const KEPT_MS = 10 * 60_000;
const MOST_KEPT = 1_000;
const TIMEOUT_SECONDS = 10;
/**
 * By how much the server's clock may differ from ours. An id token that is refused takes the new
 * refresh token with it, and the old one is used up by then.
 */
const CLOCK_TOLERANCE_SECONDS = 300;

interface Kept {
  sinceMs: number;
  configuration: Promise<oidc.Configuration>;
}

/**
 * The client side of OAuth 2.0 and OpenID Connect, by openid-client: code flow with PKCE, other
 * grants, refresh and revocation. Every method uses the network, so do not call one inside a
 * transaction. Every method throws `OauthError`.
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
   * @param options.state unguessable, valid once
   * @param options.scopes the server's scopes
   * @param options.loginHint the address that the user has typed; `null` if none
   * @param options.parameters further parameters of the request
   * @throws {OauthError} if the server's metadata cannot be read
   */
  authorizationUrl(
    registration: OauthRegistration,
    options: {
      redirectUri: string;
      state: string;
      scopes: readonly string[];
      loginHint: string | null;
      parameters: Readonly<Record<string, string>>;
    },
  ): Promise<AuthorizationRequest> {
    return this.#with(registration, async (configuration) => {
      const pkceVerifier = openidClient().randomPKCECodeVerifier();
      const nonce = options.scopes.includes('openid') ? openidClient().randomNonce() : null;
      const url = openidClient().buildAuthorizationUrl(configuration, {
        ...options.parameters,
        redirect_uri: options.redirectUri,
        scope: options.scopes.join(' '),
        state: options.state,
        code_challenge: await openidClient().calculatePKCECodeChallenge(pkceVerifier),
        code_challenge_method: 'S256',
        ...(nonce ? { nonce } : {}),
        ...(options.loginHint ? { login_hint: options.loginHint } : {}),
      });
      return { url: url.href, pkceVerifier, nonce };
    });
  }

  /**
   * Exchanges the code of a returned user for tokens. They may lack a refresh token.
   * @throws {OauthError} `denied` if the user has not agreed; `refused` if the code is invalid
   */
  exchange(registration: OauthRegistration, returned: AuthorizationReturn): Promise<SignedIn> {
    return this.#with(registration, async (configuration) => {
      const { parameters, redirectUri, state, pkceVerifier, nonce, scopes } = returned;
      const url = new URL(redirectUri);
      url.search = parameters.toString();
      const asked = this.clock.now().getTime();
      const answer = await openidClient().authorizationCodeGrant(configuration, url, {
        expectedState: state,
        pkceCodeVerifier: pkceVerifier,
        ...(nonce === null ? {} : { expectedNonce: nonce, idTokenExpected: true }),
      });
      return signedIn(answer, asked, { refreshToken: null, scopes });
    });
  }

  /**
   * Exchanges a credential for new tokens. If the server returns a new refresh token, the old one
   * is used up, so store the result before anything else.
   * @param before what stays valid if the server does not return it (RFC 6749 section 6)
   * @throws {OauthError} `refused` if the credential is no longer valid
   */
  obtain(
    registration: OauthRegistration,
    credential: OauthCredential,
    before: Pick<OauthTokens, 'scopes' | 'own'> = {},
  ): Promise<SignedIn> {
    return this.#with(registration, async (configuration) => {
      const asked = this.clock.now().getTime();
      const refreshToken = credential.kind === 'refresh-token' ? credential.refreshToken : null;
      return signedIn(await this.#answerTo(configuration, credential, asked), asked, {
        ...before,
        refreshToken,
      });
    });
  }

  #answerTo(
    configuration: oidc.Configuration,
    credential: OauthCredential,
    nowMs: number,
  ): Promise<oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers> {
    switch (credential.kind) {
      case 'refresh-token':
        return openidClient().refreshTokenGrant(configuration, credential.refreshToken);
      case 'client-credentials':
        return openidClient().clientCredentialsGrant(configuration, { scope: credential.scope });
      case 'jwt-bearer': {
        const audience = configuration.serverMetadata().token_endpoint ?? '';
        return openidClient().genericGrantRequest(
          configuration,
          'urn:ietf:params:oauth:grant-type:jwt-bearer',
          { assertion: jwtAssertion(credential, audience, nowMs) },
        );
      }
    }
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
      await openidClient().tokenRevocation(configuration, refreshToken ?? accessToken);
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
    const skew = this.#skewMinutes();
    // The key is a hash, because the registration contains a secret.
    const key = createHash('sha256')
      .update(JSON.stringify([registration, skew]))
      .digest('base64');
    const now = monotonicMs();
    const kept = this.#kept.get(key);
    if (kept && now - kept.sinceMs < KEPT_MS) return kept.configuration;
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    const configuration = this.#discover(registration, skew);
    const entry = { sinceMs: now, configuration };
    this.#kept.set(key, entry);
    configuration.catch(() => {
      if (this.#kept.get(key) === entry) this.#kept.delete(key);
    });
    return configuration;
  }

  /** How far the program's clock is ahead of that of this machine, which the library reads. */
  #skewMinutes(): number {
    return Math.round((this.clock.now().getTime() - Date.now()) / 60_000);
  }

  async #discover(
    registration: OauthRegistration,
    skewMinutes: number,
  ): Promise<oidc.Configuration> {
    const { server, clientId } = registration;
    const client = {
      [openidClient().clockSkew]: skewMinutes * 60,
      [openidClient().clockTolerance]: CLOCK_TOLERANCE_SECONDS,
    };
    const auth = await clientAuthOf(registration.authentication);
    if ('issuer' in server) {
      const { url, fetch } = discoveryOf(server, this.#fetch);
      const found = await openidClient().discovery(url, clientId, client, auth, {
        [openidClient().customFetch]: fetch,
        timeout: TIMEOUT_SECONDS,
        // The egress policy decides which hosts may be used without TLS.
        execute: [openidClient().allowInsecureRequests],
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
    const configuration = new (openidClient().Configuration)(metadata, clientId, client, auth);
    configuration[openidClient().customFetch] = this.#fetch;
    configuration.timeout = TIMEOUT_SECONDS;
    openidClient().allowInsecureRequests(configuration);
    return configuration;
  }
}

/** The address at which openid-client accepts an issuer with the placeholder `{tenantid}`. */
const TENANT_ISSUERS = 'https://login.microsoftonline.com';

/**
 * The URL for discovery, and the `fetch` for it. An issuer with `{tenantid}` at another address,
 * such as a national cloud, is discovered under the address that openid-client knows.
 */
function discoveryOf(
  { issuer, tenantIssuer }: { issuer: string; tenantIssuer?: boolean },
  fetch: oidc.CustomFetch,
): { url: URL; fetch: oidc.CustomFetch } {
  const url = new URL(issuer);
  if (!tenantIssuer || url.origin === TENANT_ISSUERS) return { url, fetch };
  const { origin } = url;
  return {
    url: new URL(`${url.pathname}${url.search}`, TENANT_ISSUERS),
    fetch: (address, options) =>
      fetch(
        address.startsWith(`${TENANT_ISSUERS}/`)
          ? origin + address.slice(TENANT_ISSUERS.length)
          : address,
        options,
      ),
  };
}

/** @param before what stays valid if the server returns no other (RFC 6749 sections 5.1 and 6) */
function signedIn(
  answer: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
  askedMs: number,
  before: Pick<OauthTokens, 'refreshToken' | 'scopes' | 'own'>,
): SignedIn {
  const { access_token, refresh_token, expires_in, scope } = answer;
  const { own } = before;
  const scopes = scope ? scope.split(/\s+/).filter(Boolean) : before.scopes;
  return {
    tokens: {
      accessToken: access_token,
      refreshToken: refresh_token ?? before.refreshToken,
      obtainedAt: askedMs,
      expiresAt: expires_in === undefined ? null : askedMs + expires_in * 1000,
      ...(scopes ? { scopes } : {}),
      ...(own ? { own } : {}),
    },
    claims: answer.claims() ?? null,
  };
}
