import net from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { type StubAnswer, stubRequest, type StubRequest } from '../remote-stub/messages.ts';
import { RemoteStub } from '../remote-stub/remote-stub.ts';

/** A person of an emulator. */
export interface Person {
  email: string;
  /** An access token that never expires. */
  token: string;
}

/** Sends a request to the emulator and returns its answer, past faults and checks. */
export type Forward = (request: StubRequest) => Promise<StubAnswer>;

/** Does in the emulator's place what it lacks. */
export interface Supplement {
  /** What the emulator lacks. */
  lacks: string;
  match(request: StubRequest): boolean;
  answer(request: StubRequest, forward: Forward): Promise<StubAnswer>;
}

/** An answer of an emulator that differs from the company's own description of its interface. */
export interface Deviation {
  /** Matches the sentence of the check, see `RemoteStub.violations`. */
  violation: RegExp;
  /** What the emulator does. */
  does: string;
}

/**
 * A proxy in front of an emulator, which other people wrote. Like a stub it records requests, makes
 * faults and checks every request and every answer against the documents of the interface. What
 * the emulator lacks is named by a `Supplement` each.
 */
export abstract class EmulatorProxy extends RemoteStub {
  protected abstract readonly supplements: readonly Supplement[];

  /** Where the emulator names the user of a token. */
  protected abstract readonly userInfo: string;
  /** Paths of the endpoints for tokens. */
  protected abstract readonly tokens: string;
  protected abstract readonly revocation: string;
  abstract readonly client: { id: string; secret: string };
  /** Who has got an access token; and the last refresh token of each. */
  readonly #owners = new Map<string, string>();
  readonly #refreshTokens = new Map<string, string>();

  /** Sends a request to the emulator itself. */
  protected abstract forward(request: StubRequest): Promise<StubAnswer>;

  protected async answer(request: StubRequest): Promise<StubAnswer> {
    const forward: Forward = (one) => this.forward(one);
    const supplement = this.supplements.find(({ match }) => match(request));
    const answer = await (supplement ? supplement.answer(request, forward) : forward(request));
    if (request.path.endsWith('/token') && answer.status === 200)
      await this.#note(answer.body as Tokens);
    return answer;
  }

  /** Whether a request was made with a token that this person got by signing in. */
  isBy({ email }: Pick<Person, 'email'>, { headers }: StubRequest): boolean {
    return this.#owners.get(headers.authorization ?? '') === email;
  }

  /** The person withdraws the access that Carillon has, on other pages of the company. */
  async withdraw({ email }: Pick<Person, 'email'>): Promise<void> {
    const tokens = [...this.#owners].flatMap(([header, owner]) =>
      owner === email ? [header.replace('Bearer ', '')] : [],
    );
    for (const token of [...tokens, this.#refreshTokens.get(email) ?? ''])
      await this.forward(formRequest(this.revocation, { token }));
  }

  /** Whether the last refresh token of a person still gives access tokens. */
  async isUsable({ email }: Pick<Person, 'email'>): Promise<boolean> {
    const { id: client_id, secret: client_secret } = this.client;
    const refresh_token = this.#refreshTokens.get(email) ?? '';
    const form = { grant_type: 'refresh_token', client_id, client_secret, refresh_token };
    return (await this.forward(formRequest(this.tokens, form))).status === 200;
  }

  async #note({ access_token, refresh_token }: Tokens): Promise<void> {
    const authorization = `Bearer ${access_token}`;
    const asked = stubRequest('GET', this.userInfo, { authorization }, Buffer.alloc(0));
    const { email } = (await this.forward(asked)).body as { email: string };
    this.#owners.set(authorization, email);
    if (refresh_token !== undefined) this.#refreshTokens.set(email, refresh_token);
  }
}

interface Tokens {
  access_token: string;
  refresh_token?: string;
}

function formRequest(path: string, form: Record<string, string>): StubRequest {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return stubRequest('POST', path, headers, Buffer.from(String(new URLSearchParams(form))));
}

/**
 * Fails a test if Carillon sent what the documents do not describe, or if the emulator answered
 * something that is not among its known deviations.
 */
export function expectKnownDeviations(
  { violations }: EmulatorProxy,
  known: readonly Deviation[],
): void {
  const unknown = violations.filter((text) => !known.some(({ violation }) => violation.test(text)));
  expect([...new Set(unknown)]).toEqual([]);
}

/** The request with other parts. Its body follows from `json` if that is given. */
export function requestWith(
  request: StubRequest,
  change: { method?: string; path?: string; query?: Record<string, string>; json?: unknown },
): StubRequest {
  const { json, query, ...rest } = change;
  const { authorization } = request.headers;
  const changed = { ...request, ...rest };
  if (query) changed.query = new URLSearchParams(query);
  if (!('json' in change)) return changed;
  return {
    ...changed,
    json,
    body: json === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(json)),
    headers: { ...(authorization && { authorization }), 'content-type': 'application/json' },
  };
}

/** The request as `fetch` takes it. */
export function fetchParts(origin: string, { method, path, query, headers, body }: StubRequest) {
  const search = query.size > 0 ? `?${query}` : '';
  const { host: _host, connection: _one, 'content-length': _length, ...rest } = headers;
  const sent = Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]);
  const hasBody = method !== 'GET' && method !== 'HEAD' && body.length > 0;
  const init = { method, headers: sent, redirect: 'manual' as const };
  return {
    url: `${origin}${path}${search}`,
    init: hasBody ? { ...init, body: new Uint8Array(body) } : init,
  };
}

/** The answer of an emulator as a stub gives it. */
export async function answerOf(response: Response): Promise<StubAnswer> {
  const { status } = response;
  const names = ['content-type', 'location', 'retry-after'] as const;
  const headers = Object.fromEntries(
    names.flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    }),
  );
  const bytes = Buffer.from(await response.arrayBuffer());
  if (bytes.length === 0) return { status, headers };
  const isJson = /\bjson\b/.test(headers['content-type'] ?? '');
  return isJson
    ? { status, headers, body: JSON.parse(bytes.toString()) as unknown }
    : { status, headers, raw: bytes };
}

/**
 * A free port outside of the range from which the system takes ports for connections, so that
 * nothing takes it before the emulator does.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = net.createServer();
    server.listen(port);
    try {
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    } finally {
      server.close();
    }
  }
}
