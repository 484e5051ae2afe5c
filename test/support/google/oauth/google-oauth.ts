import { createHash } from 'node:crypto';
import type { StubAnswer, StubRequest } from '../../remote-stub/messages.ts';
import { type AccessToken, type Grant, Grants } from './grants.ts';
import { claimsOf, keyPair, publicJwk, signedJwt, verifiedClaims } from './keys.ts';

/** A person who can sign in. */
export interface Identity {
  email: string;
  /** Google's permanent id of the person. */
  sub: string;
  name: string;
}

/** What the authorize page does with the next requests. */
export interface Consent {
  /** Address of the person who signs in. Default: `login_hint`, or else the first person. */
  email?: string;
  /** Which of the requested scopes are granted. Default: all. */
  scopes?: (requested: string[]) => string[];
  /** True: the person refuses, and the redirect has `error=access_denied`. */
  isDenied?: boolean;
}

/** A client as registered in Google's console. */
export interface Client {
  id: string;
  secret: string;
  /** Empty: any address is allowed. */
  redirectUris: string[];
}

interface ServiceAccount {
  email: string;
  clientId: string;
  publicKey: string;
  /** Scopes that administrators delegated. */
  delegated: Set<string>;
}

/** Part of the stub that the authorization server needs. */
export interface Directory {
  readonly origin: string;
  now(): number;
  identity(email: string): Identity | null;
  firstIdentity(): Identity | null;
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** An error of the token endpoint. */
class OAuthError extends Error {
  readonly status: number;
  readonly error: string;

  constructor(status: number, error: string, description: string) {
    super(description);
    this.status = status;
    this.error = error;
  }
}

/** Google's authorization server: accounts.google.com and oauth2.googleapis.com. */
export class GoogleOAuth {
  readonly grants = new Grants();
  /** The registered client. A test may change it. */
  readonly client: Client = {
    id: 'stub-client.apps.googleusercontent.com',
    secret: 'GOCSPX-stub-secret',
    redirectUris: [],
  };
  /** What the authorize page does. A test may replace it. */
  consent: Consent = {};
  /** True: a refresh answers a new refresh token, and the used one ends. Default: false. */
  rotatesRefreshTokens = false;
  /** Seconds that an access token lives. */
  tokenSeconds = 3599;
  readonly #keys = keyPair();
  readonly #serviceAccounts = new Map<string, ServiceAccount>();
  readonly #directory: Directory;

  constructor(directory: Directory) {
    this.#directory = directory;
  }

  /**
   * Adds a service account with domain-wide delegation.
   * @param delegated scopes that administrators allowed it
   * @returns the content of its key file
   */
  addServiceAccount(delegated: string[], email = 'robot@stub.iam.gserviceaccount.com'): object {
    const keys = keyPair();
    const clientId = '1098765432100';
    const { publicKey } = keys;
    this.#serviceAccounts.set(email, { email, clientId, publicKey, delegated: new Set(delegated) });
    return {
      type: 'service_account',
      project_id: 'stub',
      private_key_id: keys.id,
      private_key: keys.privateKey,
      client_email: email,
      client_id: clientId,
      token_uri: `${this.#directory.origin}/token`,
    };
  }

  /** Makes an access token without the authorize page, for tests of the stub and for measuring. */
  accessTokenFor(email: string, scopes: string[]): string {
    const { grant } = this.grants.of(email, this.client.id);
    for (const scope of scopes) grant.scopes.add(scope);
    return this.#accessToken(grant, scopes).token;
  }

  /** Makes a refresh token without the authorize page. */
  refreshTokenFor(email: string, scopes: string[]): string {
    const { grant } = this.grants.of(email, this.client.id);
    for (const scope of scopes) grant.scopes.add(scope);
    return this.grants.addRefreshToken(grant);
  }

  /** Signs claims with Google's key, as Pub/Sub does for a push. */
  signed(claims: object): string {
    return signedJwt(this.#keys, claims);
  }

  /** @returns null for a request that belongs to another part of Google */
  answer(request: StubRequest): StubAnswer | null {
    const line = `${request.method} ${request.path}`;
    if (line === 'GET /.well-known/openid-configuration') return this.#discovery();
    if (line === 'GET /o/oauth2/v2/auth') return this.#authorize(request.query);
    if (line === 'POST /token') return this.#token(request);
    if (line === 'POST /revoke') return this.#revoke(request);
    if (line === 'GET /oauth2/v3/certs')
      return { status: 200, body: { keys: [publicJwk(this.#keys)] } };
    if (/^(GET|POST) \/v1\/userinfo$/.test(line)) return this.#userinfo(request);
    return null;
  }

  #discovery(): StubAnswer {
    const { origin } = this.#directory;
    const body = {
      issuer: origin,
      authorization_endpoint: `${origin}/o/oauth2/v2/auth`,
      token_endpoint: `${origin}/token`,
      userinfo_endpoint: `${origin}/v1/userinfo`,
      revocation_endpoint: `${origin}/revoke`,
      jwks_uri: `${origin}/oauth2/v3/certs`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      scopes_supported: ['openid', 'email', 'profile'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
      code_challenge_methods_supported: ['plain', 'S256'],
    };
    return { status: 200, body };
  }

  #authorize(query: URLSearchParams): StubAnswer {
    const redirectUri = query.get('redirect_uri') ?? '';
    const problem = this.#authorizeProblem(query, redirectUri);
    if (problem) return { status: 400, raw: `Error 400: ${problem}` };
    const target = new URL(redirectUri);
    const state = query.get('state');
    if (state !== null) target.searchParams.set('state', state);
    const hint = this.consent.email ?? query.get('login_hint');
    const person = hint ? this.#directory.identity(hint) : this.#directory.firstIdentity();
    if (this.consent.isDenied || !person) target.searchParams.set('error', 'access_denied');
    else {
      const requested = (query.get('scope') ?? '').split(' ').filter(Boolean);
      const scopes = this.consent.scopes?.(requested) ?? requested;
      target.searchParams.set('code', this.#code(person, scopes, query, redirectUri));
      target.searchParams.set('scope', scopes.join(' '));
      target.searchParams.set('authuser', '0');
      target.searchParams.set('prompt', query.get('prompt') ?? 'none');
    }
    return { status: 302, headers: { location: target.href }, raw: '' };
  }

  #authorizeProblem(query: URLSearchParams, redirectUri: string): string | null {
    const { id, redirectUris } = this.client;
    if (query.get('client_id') !== id) return 'invalid_client';
    if (!URL.canParse(redirectUri)) return 'redirect_uri_mismatch';
    if (redirectUris.length > 0 && !redirectUris.includes(redirectUri))
      return 'redirect_uri_mismatch';
    if (query.get('response_type') !== 'code') return 'unsupported_response_type';
    if (!query.get('scope')) return 'Missing required parameter: scope';
    return null;
  }

  #code(person: Identity, scopes: string[], query: URLSearchParams, redirectUri: string): string {
    const { grant, isNew } = this.grants.of(person.email, this.client.id);
    for (const scope of scopes) grant.scopes.add(scope);
    const isAsked = isNew || (query.get('prompt') ?? '').includes('consent');
    const includesOthers = query.get('include_granted_scopes') === 'true';
    return this.grants.addCode({
      grant,
      redirectUri,
      challenge: query.get('code_challenge'),
      nonce: query.get('nonce'),
      scopes: includesOthers ? [...grant.scopes] : scopes,
      isOffline: query.get('access_type') === 'offline' && isAsked,
      expiresAt: this.#directory.now() + 600_000,
    });
  }

  #token({ headers, body }: StubRequest): StubAnswer {
    const form = new URLSearchParams(body.toString());
    try {
      const type = form.get('grant_type');
      if (type === JWT_BEARER) return this.#forAssertion(form.get('assertion') ?? '');
      this.#checkClient(form, headers.authorization ?? '');
      if (type === 'authorization_code') return this.#forCode(form);
      if (type === 'refresh_token') return this.#forRefreshToken(form.get('refresh_token') ?? '');
      throw new OAuthError(400, 'unsupported_grant_type', `Invalid grant_type: ${type}`);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const { status, error: code, message } = error;
      return { status, body: { error: code, error_description: message } };
    }
  }

  #checkClient(form: URLSearchParams, authorization: string): void {
    const basic = /^Basic (.+)$/.exec(authorization)?.[1];
    const [id, secret] = basic
      ? Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent)
      : [form.get('client_id'), form.get('client_secret')];
    if (id !== this.client.id)
      throw new OAuthError(401, 'invalid_client', 'The OAuth client was not found.');
    if (secret !== this.client.secret) throw new OAuthError(401, 'invalid_client', 'Unauthorized');
  }

  #forCode(form: URLSearchParams): StubAnswer {
    const code = this.grants.takeCode(form.get('code') ?? '');
    if (!code || code.expiresAt <= this.#directory.now())
      throw new OAuthError(400, 'invalid_grant', 'Malformed auth code.');
    if (form.get('redirect_uri') !== code.redirectUri)
      throw new OAuthError(400, 'redirect_uri_mismatch', 'Bad Request');
    const verifier = form.get('code_verifier') ?? '';
    const hash = createHash('sha256').update(verifier).digest('base64url');
    if (code.challenge !== null && ![hash, verifier].includes(code.challenge))
      throw new OAuthError(400, 'invalid_grant', 'Invalid code verifier.');
    const refresh = code.isOffline ? this.grants.addRefreshToken(code.grant) : null;
    return this.#tokens(code.grant, code.scopes, refresh, code.nonce);
  }

  #forRefreshToken(text: string): StubAnswer {
    const grant = this.grants.refreshed(text);
    if (!grant) throw new OAuthError(400, 'invalid_grant', 'Token has been expired or revoked.');
    if (!this.rotatesRefreshTokens) return this.#tokens(grant, [...grant.scopes], null, null);
    this.grants.dropRefreshToken(text);
    return this.#tokens(grant, [...grant.scopes], this.grants.addRefreshToken(grant), null);
  }

  #forAssertion(assertion: string): StubAnswer {
    const { iss } = claimsOf(assertion) ?? {};
    const account = this.#serviceAccounts.get(String(iss));
    if (!account) throw new OAuthError(400, 'invalid_grant', 'Invalid grant: account not found');
    const claims = verifiedClaims(account.publicKey, assertion);
    if (!claims) throw new OAuthError(400, 'invalid_grant', 'Invalid JWT Signature.');
    const { aud, iat, exp, sub, scope } = claims;
    const now = this.#directory.now() / 1000;
    if (aud !== `${this.#directory.origin}/token`)
      throw new OAuthError(400, 'invalid_grant', 'Invalid JWT: Failed audience check.');
    if (Number(exp) <= now || Number(iat) > now + 300 || Number(exp) - Number(iat) > 3600)
      throw new OAuthError(
        400,
        'invalid_grant',
        'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.',
      );
    const scopes = String(scope ?? '')
      .split(' ')
      .filter(Boolean);
    if (sub !== undefined) this.#checkDelegation(account, String(sub), scopes);
    const token = this.grants.addAccessToken({
      email: sub === undefined ? null : String(sub),
      clientId: account.clientId,
      scopes: new Set(scopes),
      expiresAt: this.#directory.now() + this.tokenSeconds * 1000,
      grant: null,
    });
    const { token: text } = token;
    const body = { access_token: text, expires_in: this.tokenSeconds, token_type: 'Bearer' };
    return { status: 200, body };
  }

  #checkDelegation(account: ServiceAccount, sub: string, scopes: string[]): void {
    if (!scopes.every((scope) => account.delegated.has(scope)))
      throw new OAuthError(
        401,
        'unauthorized_client',
        'Client is unauthorized to retrieve access tokens using this method, or client not authorized for any of the scopes requested.',
      );
    if (!this.#directory.identity(sub))
      throw new OAuthError(400, 'invalid_grant', 'Invalid email or User ID');
  }

  #accessToken(grant: Grant, scopes: string[]): AccessToken {
    const { email, clientId } = grant;
    const expiresAt = this.#directory.now() + this.tokenSeconds * 1000;
    return this.grants.addAccessToken({
      email,
      clientId,
      scopes: new Set(scopes),
      expiresAt,
      grant,
    });
  }

  #tokens(
    grant: Grant,
    scopes: string[],
    refreshToken: string | null,
    nonce: string | null,
  ): StubAnswer {
    const { token } = this.#accessToken(grant, scopes);
    const body = {
      access_token: token,
      expires_in: this.tokenSeconds,
      ...(refreshToken !== null && { refresh_token: refreshToken }),
      scope: scopes.join(' '),
      token_type: 'Bearer',
      ...(scopes.includes('openid') && { id_token: this.#idToken(grant, scopes, nonce) }),
    };
    return { status: 200, headers: { 'cache-control': 'no-store' }, body };
  }

  #idToken({ email, clientId }: Grant, scopes: string[], nonce: string | null): string {
    const person = this.#directory.identity(email);
    const iat = Math.floor(this.#directory.now() / 1000);
    return this.signed({
      iss: this.#directory.origin,
      azp: clientId,
      aud: clientId,
      ...this.#claims(person, scopes),
      ...(nonce !== null && { nonce }),
      iat,
      exp: iat + 3600,
    });
  }

  #claims(person: Identity | null, scopes: Iterable<string>): object {
    const has = (name: string) =>
      [...scopes].some((one) => one === name || one.endsWith(`/userinfo.${name}`));
    return {
      sub: person?.sub,
      ...(has('email') && { email: person?.email, email_verified: true }),
      ...(has('profile') && { name: person?.name }),
    };
  }

  #userinfo({ headers }: StubRequest): StubAnswer {
    const text = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
    const token = this.grants.accessToken(text, this.#directory.now());
    const person = token?.email ? this.#directory.identity(token.email) : null;
    if (!token || !person) {
      const body = { error: 'invalid_request', error_description: 'Invalid Credentials' };
      return { status: 401, body };
    }
    return { status: 200, body: this.#claims(person, token.scopes) };
  }

  #revoke({ query, body }: StubRequest): StubAnswer {
    const form = new URLSearchParams(body.toString());
    const token = form.get('token') ?? query.get('token') ?? '';
    if (this.grants.revoke(token)) return { status: 200, body: {} };
    const error = { error: 'invalid_token', error_description: 'Token expired or revoked' };
    return { status: 400, body: error };
  }
}
