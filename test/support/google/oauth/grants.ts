import { randomBytes } from 'node:crypto';

/** A person's consent to a client. */
export interface Grant {
  email: string;
  clientId: string;
  scopes: Set<string>;
  isRevoked: boolean;
}

/** An access token. */
export interface AccessToken {
  token: string;
  /** Null for a service account that acts for itself. */
  email: string | null;
  clientId: string;
  scopes: ReadonlySet<string>;
  /** Milliseconds. */
  expiresAt: number;
  grant: Grant | null;
}

/** A code of the authorize page, good for one exchange. */
export interface Code {
  grant: Grant;
  redirectUri: string;
  challenge: string | null;
  nonce: string | null;
  scopes: string[];
  /** True if a refresh token belongs to the answer. */
  isOffline: boolean;
  expiresAt: number;
}

const opaque = (prefix: string) => prefix + randomBytes(24).toString('base64url');

/** Everything that the authorization server remembers. */
export class Grants {
  readonly #grants = new Map<string, Grant>();
  readonly #codes = new Map<string, Code>();
  readonly #access = new Map<string, AccessToken>();
  readonly #refresh = new Map<string, Grant>();

  /** The grant of a person to a client. A revoked grant is replaced by a new one. */
  of(email: string, clientId: string): { grant: Grant; isNew: boolean } {
    const key = `${email} ${clientId}`;
    const known = this.#grants.get(key);
    if (known && !known.isRevoked) return { grant: known, isNew: false };
    const grant = { email, clientId, scopes: new Set<string>(), isRevoked: false };
    this.#grants.set(key, grant);
    return { grant, isNew: true };
  }

  addCode(code: Code): string {
    const text = opaque('4/0');
    this.#codes.set(text, code);
    return text;
  }

  /** Takes a code away; null if it was used or never given. */
  takeCode(text: string): Code | null {
    const code = this.#codes.get(text) ?? null;
    this.#codes.delete(text);
    return code;
  }

  addAccessToken(token: Omit<AccessToken, 'token'>): AccessToken {
    const made = { ...token, token: opaque('ya29.') };
    this.#access.set(made.token, made);
    return made;
  }

  /** The access token with this text, unless it is expired or revoked. */
  accessToken(text: string, now: number): AccessToken | null {
    const token = this.#access.get(text);
    return token && token.expiresAt > now && !token.grant?.isRevoked ? token : null;
  }

  addRefreshToken(grant: Grant): string {
    const text = opaque('1//0');
    this.#refresh.set(text, grant);
    return text;
  }

  /** The grant behind a refresh token; null if it is unknown or revoked. */
  refreshed(text: string): Grant | null {
    const grant = this.#refresh.get(text);
    return grant && !grant.isRevoked ? grant : null;
  }

  dropRefreshToken(text: string): void {
    this.#refresh.delete(text);
  }

  /** Revokes the grant behind a token of either kind. @returns false for an unknown token */
  revoke(text: string): boolean {
    const access = this.#access.get(text);
    const grant = access?.grant ?? this.#refresh.get(text);
    if (access) this.#access.delete(text);
    if (!grant || grant.isRevoked) return access !== undefined;
    grant.isRevoked = true;
    return true;
  }

  /** Revokes every grant of a person, as the person can in the account's settings. */
  revokeAll(email: string): void {
    for (const grant of this.#grants.values()) if (grant.email === email) grant.isRevoked = true;
  }

  /** Ends all access tokens. Default: of every person. */
  expire(email?: string): void {
    for (const token of this.#access.values())
      if (email === undefined || token.email === email) token.expiresAt = 0;
  }
}
