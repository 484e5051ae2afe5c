import { CarillonError } from './error.ts';
import type {
  Answer,
  Arguments,
  Input,
  ItemOf,
  ListPath,
  Method,
  Operation,
  PathOf,
  Schemas,
  ViewPath,
} from './types.ts';

/** Where the server is, and who calls it. */
export interface CarillonOptions {
  /** Address of the server, such as `https://mail.example.com`. */
  baseUrl: string;
  /** Access token of an account: for mail, calendars and contacts. */
  accessToken?: string;
  /** Credentials of the application: for integrations, grants, webhooks and accounts. */
  clientId?: string;
  clientSecret?: string;
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

interface AnyInput {
  path?: Record<string, unknown> | undefined;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
  headers?: Record<string, string> | undefined;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

const PAGE = 100;

/**
 * A client for the Carillon API. Each method takes a path as the documentation shows it, and
 * returns the body of the response.
 * @throws {CarillonError} for every response that is an error
 */
export class Carillon {
  readonly #options: CarillonOptions;

  constructor(options: CarillonOptions) {
    this.#options = options;
  }

  get<P extends PathOf<'get'>>(path: P, ...input: Arguments<Operation<P, 'get'>>) {
    return this.#json<Answer<Operation<P, 'get'>>>('get', path, input[0]);
  }

  post<P extends PathOf<'post'>>(path: P, ...input: Arguments<Operation<P, 'post'>>) {
    return this.#json<Answer<Operation<P, 'post'>>>('post', path, input[0]);
  }

  put<P extends PathOf<'put'>>(path: P, ...input: Arguments<Operation<P, 'put'>>) {
    return this.#json<Answer<Operation<P, 'put'>>>('put', path, input[0]);
  }

  patch<P extends PathOf<'patch'>>(path: P, ...input: Arguments<Operation<P, 'patch'>>) {
    return this.#json<Answer<Operation<P, 'patch'>>>('patch', path, input[0]);
  }

  delete<P extends PathOf<'delete'>>(path: P, ...input: Arguments<Operation<P, 'delete'>>) {
    return this.#json<Answer<Operation<P, 'delete'>>>('delete', path, input[0]);
  }

  /** Reads a list to its end, page by page. `limit` is the size of a page; default: 100. */
  async *all<P extends ListPath>(
    path: P,
    ...[input]: Arguments<Operation<P, 'get'>>
  ): AsyncGenerator<ItemOf<P>, void> {
    const { query = {}, ...rest }: AnyInput = input ?? {};
    const limit = Number(query['limit'] ?? PAGE);
    for (let offset = Number(query['offset'] ?? 0); ; offset += limit) {
      const page = { ...rest, query: { ...query, limit, offset } };
      const items = await this.#json<ItemOf<P>[]>('get', path, page);
      yield* items;
      if (items.length < limit) return;
    }
  }

  /** The ids of a list (`view=ids`), one page of them. */
  ids<P extends ViewPath<'ids'>>(path: P, ...input: Arguments<Operation<P, 'get'>>) {
    return this.#json<Schemas['Ids']>('get', path, shaped(input[0], { view: 'ids' }));
  }

  /** How many objects a list has (`view=count`), whatever the page. */
  async count<P extends ViewPath<'count'>>(
    path: P,
    ...input: Arguments<Operation<P, 'get'>>
  ): Promise<number> {
    const asked = shaped(input[0], { view: 'count' });
    return (await this.#json<Schemas['Count']>('get', path, asked)).count;
  }

  /** Checks a message and says what would happen to it (`dry_run=true`). Nothing is stored. */
  plan(body: Schemas['CreateOutboxMessage']) {
    return this.#json<Schemas['OutboxPlan']>('post', '/v2/outbox', {
      body,
      query: { dry_run: true },
    });
  }

  /** The response itself, for files, pictures and streams. */
  fetch<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    input: Input<Operation<P, M>>,
  ): Promise<Response> {
    return this.#send(method, path, input);
  }

  async #json<T>(method: Method, path: string, input: AnyInput | undefined): Promise<T> {
    const response = await this.#send(method, path, input ?? {});
    const text = await response.text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async #send(method: Method, path: string, input: AnyInput): Promise<Response> {
    const headers = new Headers({ accept: 'application/json', ...input.headers });
    const authorization = this.#authorization(path);
    if (authorization) headers.set('authorization', authorization);
    if (input.idempotencyKey !== undefined) headers.set('idempotency-key', input.idempotencyKey);
    const isForm = input.body instanceof FormData;
    if (input.body !== undefined && !isForm) headers.set('content-type', 'application/json');
    const send = this.#options.fetch ?? globalThis.fetch;
    const response = await send(this.#url(path, input), {
      method: method.toUpperCase(),
      headers,
      ...(input.body === undefined
        ? {}
        : { body: isForm ? (input.body as FormData) : JSON.stringify(input.body) }),
      ...(input.signal ? { signal: input.signal } : {}),
    });
    if (!response.ok) throw await CarillonError.of(response, `${method.toUpperCase()} ${path}`);
    return response;
  }

  #url(path: string, { path: values = {}, query = {} }: AnyInput): URL {
    const known: Record<string, unknown> = { client_id: this.#options.clientId, ...values };
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      if (known[name] === undefined) throw new TypeError(`${path} needs path.${name}`);
      return encodeURIComponent(String(known[name]));
    });
    const url = new URL(this.#options.baseUrl.replace(/\/$/, '') + filled);
    for (const [name, value] of Object.entries(query)) {
      for (const one of [value].flat())
        if (one !== undefined && one !== null) url.searchParams.append(name, String(one));
    }
    return url;
  }

  #authorization(path: string): string | undefined {
    const { accessToken, clientId = '', clientSecret } = this.#options;
    const basic = (name: string, password: string) => `Basic ${btoa(`${name}:${password}`)}`;
    if (/^\/connect\/(integrations|grants|auth$)/.test(path))
      return clientSecret === undefined ? undefined : basic(clientId, clientSecret);
    if (path.startsWith('/a/'))
      return clientSecret === undefined ? undefined : basic(clientSecret, '');
    return accessToken === undefined ? undefined : `Bearer ${accessToken}`;
  }
}

function shaped(input: AnyInput | undefined, shape: Record<string, unknown>): AnyInput {
  return { ...input, query: { ...input?.query, ...shape } };
}
