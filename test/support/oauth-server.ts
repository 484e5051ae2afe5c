import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

type Claims = Record<string, unknown>;

interface Code {
  scopes: string[];
  nonce: string | null;
  challenge: string | null;
  isOffline: boolean;
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * An authorization server whose user answers at once: it redirects straight back. The user may
 * allow some scopes only, and gets a refresh token at the first consent only, as at Google. A
 * discovery document is at every path; `{tenantid}` in `issuer` works as at Microsoft.
 */
export class OauthServer {
  url = '';
  /** Issuer of the discovery document; default `url`. */
  issuer = '';
  /** Replaces the nonce of id tokens; `null` = each has that of its request. */
  nonce: string | null = null;
  /** The user who answers. */
  user: Claims = {};
  /** Scopes that the user allows, of those that were asked for. */
  allows: (asked: string[]) => string[] = (asked) => asked;
  /** Queries of the authorization requests and forms of the token requests, in their order. */
  readonly authorizations: URLSearchParams[] = [];
  readonly tokenRequests: URLSearchParams[] = [];
  /** Tokens that were revoked. */
  readonly revoked: string[] = [];
  /**
   * Answer of the token endpoint to all requests; `null` = the usual one. `challenge` is the header
   * `WWW-Authenticate`.
   */
  tokenAnswer: { status: number; challenge?: string; body: object | string } | null = null;
  /** Added to each usual answer of the token endpoint. */
  moreTokens: object = {};
  /** Subjects that have agreed before. */
  readonly agreed = new Set<unknown>();
  readonly #codes = new Map<string, Code>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void this.#answer(request).then(({ status = 200, location, challenge, body }) => {
        response.writeHead(status, {
          'content-type': 'application/json',
          ...(location ? { location } : {}),
          ...(challenge ? { 'www-authenticate': challenge } : {}),
        });
        response.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
      });
    });
  }

  static async start(): Promise<OauthServer> {
    const server = new OauthServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    server.url = `http://127.0.0.1:${(server.#server.address() as AddressInfo).port}`;
    server.issuer = server.url;
    return server;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** Sends the browser of the user to this address; returns where the server sends it next. */
  async visit(address: string): Promise<string> {
    const response = await fetch(address, { redirect: 'manual' });
    return response.headers.get('location') ?? '';
  }

  async #answer(
    request: IncomingMessage,
  ): Promise<{ status?: number; location?: string; challenge?: string; body?: object | string }> {
    const url = new URL(request.url ?? '', this.url);
    if (url.pathname.endsWith('/.well-known/openid-configuration'))
      return { body: this.#metadata() };
    if (url.pathname === '/authorize') return this.#authorize(url.searchParams);
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const form = new URLSearchParams(text);
    if (url.pathname === '/token') return this.#token(form);
    if (url.pathname !== '/revoke') return { status: 404 };
    this.revoked.push(form.get('token') ?? '');
    return {};
  }

  #metadata(): object {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      revocation_endpoint: `${this.url}/revoke`,
    };
  }

  #authorize(query: URLSearchParams): { status: number; location: string } {
    this.authorizations.push(query);
    const target = new URL(query.get('redirect_uri') ?? '');
    const { sub } = this.user;
    const code = randomUUID();
    const asks = !this.agreed.has(sub) || (query.get('prompt') ?? '').includes('consent');
    this.agreed.add(sub);
    this.#codes.set(code, {
      scopes: this.allows((query.get('scope') ?? '').split(' ')),
      nonce: query.get('nonce'),
      challenge: query.get('code_challenge'),
      isOffline: asks,
    });
    target.searchParams.set('code', code);
    target.searchParams.set('state', query.get('state') ?? '');
    return { status: 302, location: target.href };
  }

  #token(form: URLSearchParams): { status?: number; challenge?: string; body: object | string } {
    this.tokenRequests.push(form);
    if (this.tokenAnswer) return this.tokenAnswer;
    if (form.get('grant_type') !== 'authorization_code')
      return { body: this.#tokens({ scope: form.get('scope') }, form) };
    const code = this.#codes.get(form.get('code') ?? '');
    this.#codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256').update(form.get('code_verifier') ?? '');
    if (!code || code.challenge !== challenge.digest('base64url'))
      return { status: 400, body: { error: 'invalid_grant' } };
    const scope = code.scopes.join(' ');
    const refresh = code.isOffline ? { refresh_token: randomUUID() } : {};
    return { body: { ...this.#tokens({ scope }, form, code.nonce), ...refresh } };
  }

  #tokens({ scope }: { scope: string | null }, form: URLSearchParams, nonce?: string | null) {
    const seconds = Math.floor(Date.now() / 1000);
    const iss = this.issuer.replace('{tenantid}', String(this.user['tid']));
    const claims = {
      iss,
      aud: form.get('client_id'),
      iat: seconds,
      exp: seconds + 600,
      ...this.user,
    };
    const isUser = ['authorization_code', 'refresh_token'].includes(form.get('grant_type') ?? '');
    const id = { ...claims, ...(nonce ? { nonce: this.nonce ?? nonce } : {}) };
    return {
      access_token: randomUUID(),
      token_type: 'Bearer',
      expires_in: 3_600,
      ...(scope ? { scope } : {}),
      ...(isUser ? { id_token: `${encoded({ alg: 'RS256' })}.${encoded(id)}.${encoded({})}` } : {}),
      ...this.moreTokens,
    };
  }
}
