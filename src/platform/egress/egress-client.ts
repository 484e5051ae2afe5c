import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { BlockList } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { EgressError, toEgressError } from './egress-error.ts';
import { EgressPolicy, type UrlOptions } from './egress-policy.ts';

export interface EgressLimits {
  /** For looking up the name and connecting, and once more for TLS, in milliseconds; default 5000. */
  connectTimeoutMs: number;
  /** For the whole exchange, from the call to the last byte that is read, in milliseconds; default 10000. */
  deadlineMs: number;
  /** How much of an answer's body is read, in bytes; default 16384. The rest is never fetched. */
  maxBodyBytes: number;
  /** Simultaneous connections to one origin; default 16. */
  connectionsPerOrigin: number;
  /** Certificate authorities to trust instead of the system's (PEM). */
  ca?: string;
}

const DEFAULTS: EgressLimits = {
  connectTimeoutMs: 5_000,
  deadlineMs: 10_000,
  maxBodyBytes: 16 * 1024,
  connectionsPerOrigin: 16,
};

export interface EgressAnswer {
  /** HTTP status; redirects are answers like any other and are not followed. */
  status: number;
  /** The first `maxBodyBytes` of the body. For comparisons: never hand it on to a caller or a log. */
  body: Buffer;
  /** The `Retry-After` header as it came (see `parseRetryAfter`). */
  retryAfter: string | null;
  /** Further headers, by their names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface EgressOptions extends UrlOptions {
  /** Ends the request early; the call then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Instead of the client's `deadlineMs`. */
  deadlineMs?: number;
  /** Instead of the client's `maxBodyBytes`. */
  maxBodyBytes?: number;
}

/** Methods of HTTP, and of WebDAV (RFC 4918, 3253, 4791). */
export type EgressMethod =
  | 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'PROPFIND' | 'PROPPATCH' | 'REPORT' | 'MKCOL' | 'MKCALENDAR'; // prettier-ignore

export interface EgressRequest {
  method: EgressMethod;
  headers?: Readonly<Record<string, string>>;
  /** Chunks are asked for one by one once a connection is there; then `headers` must have the `content-length`. */
  body?: Buffer | AsyncIterable<Buffer>;
}

/** Made once: an abort without a reason makes an exception with a stack each time. */
const ENDED = new Error('the exchange has ended');

const USER_AGENT = 'Carillon/0.1';

/** Addresses that must be refused; the first that is not allowed proves at start that the guard works. */
const PROBES = ['127.0.0.1', '169.254.169.254', '10.0.0.1'];

/**
 * The one way to addresses that users give us: webhook deliveries and challenges, webhook reminders, mailing and conferencing services,
 * calendars and address books. Refuses private addresses when connecting, follows no redirect, reads no proxy from the environment, keeps connections alive, and
 * gives up at a deadline whatever the other side does.
 */
export class EgressClient implements OnModuleInit, OnApplicationShutdown {
  readonly #limits: EgressLimits;
  readonly #guarded: Agent;
  /** For names the operator trusts by name: they may resolve to anything. */
  readonly #trusting: Agent;

  constructor(
    private readonly policy: EgressPolicy,
    limits: Partial<EgressLimits> = {},
  ) {
    this.#limits = { ...DEFAULTS, ...limits };
    this.#guarded = this.#agent(policy.guard);
    this.#trusting = this.#agent(undefined);
  }

  /** As `EgressPolicy.normalizeUrl`. @throws {InvalidInputError} naming `field` */
  normalizeUrl(raw: string, field: string, options?: UrlOptions): string {
    return this.policy.normalizeUrl(raw, field, options);
  }

  /**
   * Sends `body` as it is.
   * @throws {EgressError} when there is no answer
   */
  post(
    url: string,
    body: Buffer,
    headers: Readonly<Record<string, string>>,
    options: EgressOptions = {},
  ): Promise<EgressAnswer> {
    return this.request(url, { method: 'POST', body, headers }, options);
  }

  /** @throws {EgressError} when there is no answer */
  get(url: string, options: EgressOptions = {}): Promise<EgressAnswer> {
    return this.request(url, { method: 'GET' }, options);
  }

  /** @throws {EgressError} when there is no answer */
  request(
    url: string,
    { method, headers, body }: EgressRequest,
    options: EgressOptions = {},
  ): Promise<EgressAnswer> {
    const sent = {
      method,
      headers: { 'user-agent': USER_AGENT, ...headers },
      // undici takes any async iterable; its types name streams only.
      ...(body ? { body: body as Buffer } : {}),
    };
    return this.#exchange(url, sent, options);
  }

  /** @throws {Error} when a private address would be reached: Carillon does not start without its guard */
  async onModuleInit(): Promise<void> {
    const probe = PROBES.find((address) => this.policy.guard.check(address, 'ipv4'));
    if (!probe) return; // the operator allows everything
    for (const scheme of ['http', 'https']) {
      const failure = await this.#guarded
        .request({ origin: `${scheme}://${probe}:9`, path: '/', method: 'HEAD' })
        .then(() => null, toEgressError);
      if (failure?.kind !== 'blocked') {
        throw new Error(`outgoing ${scheme} requests are not guarded: ${probe} could be reached`);
      }
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.#guarded.destroy(), this.#trusting.destroy()]);
  }

  async #exchange(
    url: string,
    request: Pick<Dispatcher.RequestOptions, 'method' | 'body' | 'headers'>,
    { signal, deadlineMs, maxBodyBytes, ...kind }: EgressOptions,
  ): Promise<EgressAnswer> {
    // Addresses stored under an earlier allow-list are checked again.
    const checked = new URL(this.#recheck(url, kind));
    signal?.throwIfAborted();
    const abort = new AbortController();
    const { promise: ended, reject: end } = Promise.withResolvers<never>();
    const limit = deadlineMs ?? this.#limits.deadlineMs;
    const most = maxBodyBytes ?? this.#limits.maxBodyBytes;
    const timer = setTimeout(
      () => end(new EgressError('timeout', `no complete answer within ${limit} ms`)),
      limit,
    );
    const onAbort = () => end(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      // A race, because undici hears of an abort only once a connection is there.
      return await Promise.race([
        this.#converse(checked, request, abort.signal, limit, most),
        ended,
      ]);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      abort.abort(ENDED);
    }
  }

  async #converse(
    { origin, pathname, search, hostname }: URL,
    request: Pick<Dispatcher.RequestOptions, 'method' | 'body' | 'headers'>,
    signal: AbortSignal,
    limitMs: number,
    maxBodyBytes: number,
  ): Promise<EgressAnswer> {
    try {
      const agent = this.policy.trustsName(hostname) ? this.#trusting : this.#guarded;
      const answer = await agent.request({
        ...request,
        origin,
        path: pathname + search,
        signal,
        headersTimeout: limitMs,
        bodyTimeout: limitMs,
      });
      const retryAfter = answer.headers['retry-after'];
      return {
        status: answer.statusCode,
        retryAfter: (Array.isArray(retryAfter) ? retryAfter[0] : retryAfter) ?? null,
        headers: answer.headers,
        body: await this.#read(answer.body, maxBodyBytes),
      };
    } catch (error) {
      throw toEgressError(error);
    }
  }

  #recheck(url: string, kind: UrlOptions): string {
    try {
      return this.policy.normalizeUrl(url, 'the address', kind);
    } catch (cause) {
      throw new EgressError('blocked', cause instanceof Error ? cause.message : String(cause), {
        cause,
      });
    }
  }

  /** Stops at the limit; leaving the loop destroys the stream and with it the connection. */
  async #read(body: AsyncIterable<Buffer>, most: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let left = most;
    for await (const chunk of body) {
      chunks.push(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) break;
    }
    return Buffer.concat(chunks);
  }

  #agent(blockList: BlockList | undefined): Agent {
    const { connectTimeoutMs: timeout, connectionsPerOrigin, ca } = this.#limits;
    const plain = buildConnector({ timeout, blockList } as buildConnector.BuildOptions);
    const secure = buildConnector({
      timeout,
      allowH2: false,
      rejectUnauthorized: true,
      ...(ca ? { ca } : {}),
    });
    return new Agent({
      connections: connectionsPerOrigin,
      allowH2: false,
      connect(options, callback) {
        // `tls.connect` ignores `blockList` (Node 24): the guarded TCP connection comes first, TLS is put on it.
        if (options.protocol !== 'https:') return plain(options, callback);
        plain(
          { ...options, protocol: 'http:', port: options.port || '443', servername: undefined },
          (error, socket) => {
            if (error || !socket) callback(error ?? new Error('no socket'), null);
            else secure({ ...options, httpSocket: socket }, callback);
          },
        );
      },
    });
  }
}

/** Statuses of answers without a body. */
const BODILESS = [204, 205, 304];

/** An answer as `fetch` would give it, for libraries that want one. */
export function toResponse({ status, headers, body }: EgressAnswer): Response {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((line): [string, string] => [name, line]),
  );
  return new Response(BODILESS.includes(status) ? null : new Uint8Array(body), {
    status,
    headers: lines,
  });
}
