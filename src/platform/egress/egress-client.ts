import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { BlockList } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { monotonicMs } from '../base/time/clock.ts';
import { isLogged } from '../logs/levels.ts';
import { EgressError, toEgressError } from './egress-error.ts';
import { EgressPolicy, type UrlOptions } from './egress-policy.ts';
import { type EgressResponse, Exchange } from './exchange.ts';

export type { EgressResponse };
import {
  failSpan,
  type Span,
  type SpanDescription,
  SpanKind,
  spanned,
  traceHeaders,
} from '../tracing/spans.ts';

/** Limits of an `EgressClient`. */
export interface EgressLimits {
  /**
   * For resolving the name and connecting, and the same again for TLS, in milliseconds; default
   * 5000.
   */
  connectTimeoutMs: number;
  /**
   * For the whole exchange, from the call to the last byte read, in milliseconds; default 10000.
   */
  deadlineMs: number;
  /**
   * Number of bytes of the response body that are read; default 16384. The rest is never fetched.
   */
  maxBodyBytes: number;
  /** Simultaneous connections to one origin; default 32. */
  connectionsPerOrigin: number;
  /** Certificate authorities to trust instead of the system's (PEM). */
  ca?: string;
}

const DEFAULTS: EgressLimits = {
  connectTimeoutMs: 5_000,
  deadlineMs: 10_000,
  maxBodyBytes: 16 * 1024,
  connectionsPerOrigin: 32,
};

/** Settings of one request. */
export interface EgressOptions extends UrlOptions {
  /** Ends the request early. The call then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Replaces the client's `deadlineMs`. */
  deadlineMs?: number;
  /** Replaces the client's `maxBodyBytes`. */
  maxBodyBytes?: number;
  /**
   * Whether the receiver gets the current trace, as a `traceparent` header. For receivers of the
   * application only: other companies need not know it. Default: false.
   */
  traced?: boolean;
}

/** Methods of HTTP and WebDAV (RFC 4918, 3253, 4791). */
export type EgressMethod =
  | 'GET'
  | 'POST'
  | 'PUT'
  | 'PATCH'
  | 'DELETE'
  | 'PROPFIND'
  | 'PROPPATCH'
  | 'REPORT'
  | 'MKCOL'
  | 'MKCALENDAR';

export interface EgressRequest {
  method: EgressMethod;
  headers?: Readonly<Record<string, string>>;
  /**
   * An iterable is read chunk by chunk once the connection is open. `headers` must then contain
   * `content-length`.
   */
  body?: Buffer | AsyncIterable<Buffer>;
}

/** Where a request goes to. */
interface Target {
  origin: string;
  /** With the query. */
  path: string;
  agent: Agent;
}

/** Each has at most 2048 characters. */
const MOST_TARGETS = 500;

const log = new Logger('Egress');

const USER_AGENT = 'Carillon/0.1';

/**
 * Addresses that must be refused. At start, the first one that the operator does not allow proves
 * that the guard works.
 */
const PROBES = ['127.0.0.1', '169.254.169.254', '10.0.0.1'];

/**
 * The only client for requests to addresses that users supply: webhook deliveries and challenges,
 * webhook reminders, mailing and conferencing services, calendars and address books. It refuses
 * private addresses when it connects, follows no redirects and ignores proxy settings in the
 * environment. It keeps connections alive. Every request ends at a deadline, whatever the server
 * does (docs/adr/0010).
 */
export class EgressClient implements OnModuleInit, OnApplicationShutdown {
  readonly #limits: EgressLimits;
  readonly #guardedAgent: Agent;
  /** For host names on the allow-list. They may resolve to any address. */
  readonly #unguardedAgent: Agent;
  /**
   * Targets of recent URLs, which depend only on the URL and the policy. Parsing and checking a URL
   * would take as long as signing a webhook delivery does.
   */
  readonly #targets = new Map<string, Target>();

  constructor(
    private readonly policy: EgressPolicy,
    limits: Partial<EgressLimits> = {},
  ) {
    this.#limits = { ...DEFAULTS, ...limits };
    this.#guardedAgent = this.#agent(policy.guard);
    this.#unguardedAgent = this.#agent(undefined);
  }

  /**
   * The same as `EgressPolicy.normalizeUrl`.
   * @throws {InvalidInputError} naming `field`
   */
  normalizeUrl(raw: string, field: string, options?: UrlOptions): string {
    return this.policy.normalizeUrl(raw, field, options);
  }

  /**
   * Sends `body` without changing it.
   * @throws {EgressError} if there is no response
   */
  post(
    url: string,
    body: Buffer,
    headers: Readonly<Record<string, string>>,
    options: EgressOptions = {},
  ): Promise<EgressResponse> {
    return this.request(url, { method: 'POST', body, headers }, options);
  }

  /**
   * Sends a GET request.
   * @throws {EgressError} if there is no response
   */
  get(url: string, options: EgressOptions = {}): Promise<EgressResponse> {
    return this.request(url, { method: 'GET' }, options);
  }

  /**
   * Sends any request.
   * @throws {EgressError} if there is no response
   */
  request(
    url: string,
    { method, headers, body }: EgressRequest,
    options: EgressOptions = {},
  ): Promise<EgressResponse> {
    const sent = {
      method,
      headers: { 'user-agent': USER_AGENT, ...headers },
      // undici accepts any async iterable, but its types list only streams.
      ...(body ? { body: body as Buffer } : {}),
    };
    return spanned(
      () => exchangeSpan(method, url),
      async (span) => {
        if (span && options.traced) Object.assign(sent.headers, traceHeaders());
        const begunMs = monotonicMs();
        const response = await this.#exchange(url, sent, options);
        noteExchange(method, url, response.status, begunMs);
        if (span) noteStatus(span, response.status);
        return response;
      },
    );
  }

  /**
   * Checks that private addresses are blocked.
   * @throws {Error} if one could be reached; Carillon then does not start
   */
  async onModuleInit(): Promise<void> {
    const probe = PROBES.find((address) => this.policy.guard.check(address, 'ipv4'));
    if (!probe) return; // the operator allows everything
    for (const scheme of ['http', 'https']) {
      const failure = await this.#guardedAgent
        .request({ origin: `${scheme}://${probe}:9`, path: '/', method: 'HEAD' })
        .then(() => null, toEgressError);
      if (failure?.kind !== 'blocked') {
        throw new Error(
          `outgoing ${scheme} requests are not guarded: private addresses such as ${probe} could be reached`,
        );
      }
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.#guardedAgent.destroy(), this.#unguardedAgent.destroy()]);
  }

  async #exchange(
    url: string,
    request: Pick<Dispatcher.RequestOptions, 'method' | 'body' | 'headers'>,
    { signal, deadlineMs, maxBodyBytes, ...kind }: EgressOptions,
  ): Promise<EgressResponse> {
    const { origin, path, agent } = this.#target(url, kind);
    signal?.throwIfAborted();
    const limitMs = deadlineMs ?? this.#limits.deadlineMs;
    const exchange = new Exchange(maxBodyBytes ?? this.#limits.maxBodyBytes);
    const timer = setTimeout(
      () => exchange.abort(new EgressError('timeout', `no complete response within ${limitMs} ms`)),
      limitMs,
    );
    const onAbort = () => exchange.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    // The timer covers the whole exchange. A second limit of the same length would sometimes be
    // first, and its error says nothing about the time.
    const limits = { headersTimeout: 0, bodyTimeout: 0 };
    try {
      agent.dispatch({ ...request, ...limits, origin, path }, exchange);
      return await exchange.response;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Where a request goes to.
   * @throws {EgressError} if the policy refuses the URL
   */
  #target(url: string, kind: UrlOptions): Target {
    const key = `${kind.plainHttp ? 'http' : 'https'} ${url}`;
    const known = this.#targets.get(key);
    if (known) return known;
    // The URL may have been stored under an earlier allow-list.
    const { origin, pathname, search, hostname } = new URL(this.#recheck(url, kind));
    const agent = this.policy.trustsName(hostname) ? this.#unguardedAgent : this.#guardedAgent;
    const target = { origin, path: pathname + search, agent };
    if (this.#targets.size >= MOST_TARGETS) this.#targets.clear();
    this.#targets.set(key, target);
    return target;
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
        // `tls.connect` ignores `blockList` (Node 24). The guarded TCP connection is opened
        // first, then TLS runs over it.
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

/** Without path and query, which may have addresses and tokens in them. */
function exchangeSpan(method: string, url: string): SpanDescription {
  const host = URL.canParse(url) ? new URL(url).hostname : '';
  return {
    name: `${method} ${host}`,
    kind: SpanKind.CLIENT,
    attributes: { 'http.request.method': method, 'server.address': host },
  };
}

function noteExchange(method: string, url: string, status: number, begunMs: number): void {
  if (!isLogged('debug')) return;
  const { hostname: host } = new URL(url);
  log.debug({ method, host, status, ms: Math.round(monotonicMs() - begunMs) }, 'outgoing request');
}

function noteStatus(span: Span, status: number): void {
  span.setAttribute('http.response.status_code', status);
  if (status >= 400) failSpan(span, `HTTP ${status}`);
}

/** Statuses of responses without a body. */
const BODILESS = [204, 205, 304];

/** Converts a response to the `Response` of `fetch`, for libraries that need one. */
export function toResponse({ status, headers, body }: EgressResponse): Response {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((line): [string, string] => [name, line]),
  );
  return new Response(BODILESS.includes(status) ? null : new Uint8Array(body), {
    status,
    headers: lines,
  });
}
