import { randomBytes, randomUUID } from 'node:crypto';
import type { StubApp, StubUser } from '../directory/directory.ts';
import type { StubSettings } from '../settings.ts';
import { EntraError, entraErrors } from './oauth-error.ts';

/** What a user, or an administrator for an application, has agreed to. */
export interface Grant {
  app: StubApp;
  /** `null` for an application without a user. */
  user: StubUser | null;
  tenantId: string;
  /** Scopes as they were asked for, without those of OpenID. */
  scopes: Set<string>;
  /** Errors that refreshing answers with, until the user signs in again. */
  refusal: EntraError | null;
}

export interface AccessToken {
  grant: Grant;
  permissions: Set<string>;
  /** Unix milliseconds. */
  expires: number;
}

export interface AuthorizationCode {
  grant: Grant;
  scope: string;
  redirectUri: string;
  challenge: string | null;
  method: string;
  nonce: string | null;
  expires: number;
  used: boolean;
}

interface RefreshToken {
  grant: Grant;
  scope: string;
  /** Until when it works; `null` for the newest one. */
  until: number | null;
}

export const OPENID_SCOPES = new Set(['openid', 'profile', 'email', 'offline_access']);
const RESOURCE = /^https?:\/\/[^/]+\//i;

/** Name of a permission without the address of Graph. */
export const permissionOf = (scope: string): string => scope.replace(RESOURCE, '');

/** Codes and tokens of the stub, and what they allow. */
export class TokenStore {
  readonly #codes = new Map<string, AuthorizationCode>();
  readonly #access = new Map<string, AccessToken>();
  readonly #refresh = new Map<string, RefreshToken>();
  readonly #grants = new Map<string, Grant>();
  readonly #settings: StubSettings;
  readonly #now: () => number;

  constructor(settings: StubSettings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
  }

  /** The grant of a user or, with `user` null, of an application in a tenant. */
  grant(app: StubApp, user: StubUser | null, tenantId: string): Grant {
    const key = `${app.clientId} ${user?.id ?? tenantId}`;
    const known = this.#grants.get(key);
    if (known) return known;
    const grant: Grant = { app, user, tenantId, scopes: new Set(), refusal: null };
    this.#grants.set(key, grant);
    return grant;
  }

  newCode(code: Omit<AuthorizationCode, 'expires' | 'used'>): string {
    const text = `1.${randomBytes(64).toString('base64url')}`;
    this.#codes.set(text, { ...code, expires: this.#now() + 600_000, used: false });
    return text;
  }

  /** Uses a code up. A second use is refused. */
  useCode(text: string): AuthorizationCode {
    const code = this.#codes.get(text);
    if (!code)
      throw entraErrors.invalidGrant(9002313, 'Invalid request. Request is malformed or invalid.');
    if (code.used) {
      throw entraErrors.invalidGrant(
        54005,
        'OAuth2 Authorization code was already redeemed, please retry with a new valid code.',
      );
    }
    if (code.expires <= this.#now()) {
      throw entraErrors.invalidGrant(70008, 'The provided authorization code has expired.');
    }
    code.used = true;
    return code;
  }

  newAccessToken(grant: Grant, permissions: Iterable<string>): string {
    const token = `EwB${randomBytes(90).toString('base64url')}`;
    const expires = this.#now() + this.#settings.accessTokenSeconds * 1_000;
    this.#access.set(token, { grant, permissions: new Set(permissions), expires });
    return token;
  }

  /** The access token with this text; `null` if it is unknown or has expired. */
  access(text: string): AccessToken | null {
    const token = this.#access.get(text);
    return token && token.expires > this.#now() ? token : null;
  }

  newRefreshToken(grant: Grant, scope: string): string {
    const token = `1.${randomBytes(120).toString('base64url')}`;
    this.#refresh.set(token, { grant, scope, until: null });
    return token;
  }

  /** The grant of a refresh token. From now on the token works for a limited time. */
  useRefreshToken(text: string, app: StubApp): RefreshToken {
    const token = this.#refresh.get(text);
    if (!token || token.grant.app !== app) {
      throw entraErrors.invalidGrant(70000, 'Provided grant is invalid or malformed.', 'bad_token');
    }
    if (token.grant.refusal) throw token.grant.refusal;
    if (token.until !== null && token.until <= this.#now()) {
      throw entraErrors.invalidGrant(
        700082,
        'The refresh token has expired due to inactivity.',
        'token_expired',
      );
    }
    token.until ??= this.#now() + this.#settings.oldRefreshTokenSeconds * 1_000;
    return token;
  }

  /** Makes all access tokens expire now. */
  expireAccessTokens(): void {
    for (const token of this.#access.values()) token.expires = 0;
  }

  /** Makes refresh tokens of a user fail with this error, and their access tokens expire. */
  refuse(user: StubUser, refusal: EntraError): void {
    for (const grant of this.#grants.values()) {
      if (grant.user === user) grant.refusal = refusal;
    }
    for (const token of this.#access.values()) {
      if (token.grant.user === user) token.expires = 0;
    }
  }

  /** A value for parameters such as `session_state`. */
  newState(): string {
    return randomUUID();
  }
}
