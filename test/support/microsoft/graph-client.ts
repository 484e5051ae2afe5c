import type { Json } from './http/types.ts';
import type { MicrosoftStub } from './microsoft-stub.ts';
import type { StubSettings } from './settings.ts';

/** Headers that every request of the client has. */
export const IMMUTABLE = { prefer: 'IdType="ImmutableId"' };

export interface Answer {
  status: number;
  headers: Headers;
  body: Json;
}

/** A client of the stub for its own specs: sends requests to Graph as one user. */
export class GraphClient {
  readonly #origin: string;
  readonly #settings: StubSettings;
  readonly #token: string;
  readonly #headers: Record<string, string>;

  constructor(stub: MicrosoftStub, token: string, headers: Record<string, string> = IMMUTABLE) {
    this.#origin = stub.origin;
    this.#settings = stub.settings;
    this.#token = token;
    this.#headers = headers;
  }

  /**
   * A request that the stub refuses because of `outageEvery` or `staleEvery` is made once more.
   * @param path below `/v1.0/`, or an absolute address such as a nextLink
   */
  async send(
    method: string,
    path: string,
    body?: Json | string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const answer = await this.#send(method, path, body, headers);
    const { code } = (answer.body['error'] ?? {}) as { code?: string };
    const { outageEvery, staleEvery } = this.#settings;
    const isPassing =
      (code === 'MailboxNotEnabledForRESTAPI' && outageEvery !== null) ||
      (code === 'MailboxInfoStale' && staleEvery !== null);
    return isPassing ? this.#send(method, path, body, headers) : answer;
  }

  async #send(
    method: string,
    path: string,
    body: Json | string | undefined,
    headers: Record<string, string>,
  ): Promise<Answer> {
    const type = typeof body === 'string' ? 'text/plain' : 'application/json';
    const response = await fetch(path.startsWith('http') ? path : `${this.#origin}/v1.0/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { 'content-type': type }),
        ...this.#headers,
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    const parsed = isJson ? (JSON.parse(text) as Json) : { text };
    return { status: response.status, headers: response.headers, body: parsed };
  }

  /** The body of a `GET` that succeeds. @throws {Error} otherwise */
  async get(path: string, headers: Record<string, string> = {}): Promise<Json> {
    const { status, body } = await this.send('GET', path, undefined, headers);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** The items of one page of a list. */
  async list(path: string, headers: Record<string, string> = {}): Promise<Json[]> {
    return (await this.get(path, headers))['value'] as Json[];
  }

  /** All pages of a delta query, with the link of the next round. */
  async delta(
    path: string,
    headers: Record<string, string> = {},
  ): Promise<{ items: Json[]; link: string; pages: number }> {
    const items: Json[] = [];
    let pages = 0;
    for (let next = path; ;) {
      const body = await this.get(next, headers);
      pages += 1;
      items.push(...(body['value'] as Json[]));
      const link = body['@odata.deltaLink'];
      if (typeof link === 'string') return { items, link, pages };
      next = String(body['@odata.nextLink']);
    }
  }
}
