import type { z } from 'zod';
import { asking, ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type {
  EgressClient,
  EgressMethod,
  EgressResponse,
} from '../../platform/egress/egress-client.ts';
import { askService, isLostByGateway, jsonOf } from '../port/service-responses.ts';

/** Usual limits of one request. */
const DEADLINE_MS = 30_000;
const MOST_BYTES = 8 * 1024 * 1024;

/** A value of a query parameter. A list repeats the parameter; `undefined` leaves it out. */
export type QueryValue = string | number | boolean | readonly string[] | undefined;

/** A request to a provider's REST API. */
export interface RestRequest {
  method: EgressMethod;
  /** Absolute, without a query if `query` is given. */
  url: string;
  query?: Readonly<Record<string, QueryValue>>;
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  json?: unknown;
  /**
   * Sent as it is, instead of `json`. `headers` then names its `content-type`, and for an iterable
   * also its `content-length`.
   */
  body?: Buffer | AsyncIterable<Buffer>;
  /**
   * Whether the request may be repeated although an earlier one may have taken effect. Default:
   * true for GET, PUT and DELETE. A lost response of another request is `outcome-unknown`.
   */
  repeatable?: boolean;
  /** Longest time for the whole exchange in milliseconds; default 30,000. */
  deadlineMs?: number;
  /** Largest response in bytes; default 8 MiB. A larger one is an error. */
  maxBodyBytes?: number;
  signal?: AbortSignal;
}

/** The response is larger than the caller can use. */
export class ResponseTooLargeError extends ProviderError {
  override name = 'ResponseTooLargeError';

  constructor(service: string, most: number) {
    super('temporary', `${service}: the response is larger than ${most} bytes`);
  }
}

/** What distinguishes one provider's API from another's. */
export interface RestApi {
  /** Name of the provider in error texts. */
  service: string;
  /** The error for an unsuccessful response. */
  toError(response: EgressResponse, now: Date): ProviderError;
}

const REPEATABLE: readonly EgressMethod[] = ['GET', 'PUT', 'DELETE'];

/**
 * Calls the REST API of a provider with a user's access token, through the egress guard. It makes
 * each request once: callers decide about retries.
 */
export class RestClient {
  constructor(
    private readonly egress: EgressClient,
    private readonly clock: Clock,
    private readonly api: RestApi,
  ) {}

  /**
   * Sends a request and returns the successful response.
   * @param accessToken `undefined` for requests that need none, such as upload sessions, whose URL
   *   is the secret
   * @throws {ProviderError} for every other response, and if there is none
   * @throws {ResponseTooLargeError}
   */
  async send(accessToken: string | undefined, request: RestRequest): Promise<EgressResponse> {
    const { hostname: host, port } = new URL(request.url);
    const server = { protocol: 'HTTPS', host, port: Number(port || 443) } as const;
    return asking(server, () => this.#send(accessToken, request));
  }

  async #send(accessToken: string | undefined, request: RestRequest): Promise<EgressResponse> {
    const { method, repeatable = REPEATABLE.includes(method) } = request;
    const most = request.maxBodyBytes ?? MOST_BYTES;
    const response = await askService(this.egress, urlOf(request), sent(accessToken, request), {
      service: this.api.service,
      lost: repeatable ? 'temporary' : 'outcome-unknown',
      deadlineMs: request.deadlineMs ?? DEADLINE_MS,
      // One byte more, to notice a response that is too large: the rest of it is not read.
      maxBodyBytes: most + 1,
      ...(request.signal ? { signal: request.signal } : {}),
    });
    if (response.status < 200 || response.status > 299) throw this.#error(response, repeatable);
    if (response.body.length > most) throw new ResponseTooLargeError(this.api.service, most);
    return response;
  }

  /**
   * Sends a request and returns the parsed JSON of the response. Unknown fields are dropped.
   * @throws {ProviderError} also if the response is not of the expected shape
   */
  async read<T>(
    accessToken: string | undefined,
    request: RestRequest,
    shape: z.ZodType<T>,
  ): Promise<T> {
    const { body } = await this.send(accessToken, request);
    return this.parse(body, shape);
  }

  /**
   * Parses the JSON of a response body.
   * @throws {ProviderError} `temporary` if it is not of the expected shape
   */
  parse<T>(body: Buffer, shape: z.ZodType<T>): T {
    const parsed = shape.safeParse(jsonOf(body));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const where = issue && issue.path.length > 0 ? ` (${issue.path.join('.')})` : '';
    throw new ProviderError(
      'temporary',
      `${this.api.service}: the response has an unexpected form${where}`,
    );
  }

  #error(response: EgressResponse, repeatable: boolean): ProviderError {
    const error = this.api.toError(response, this.clock.now());
    // A gateway reports that it lost the service's response, so the outcome is unknown.
    return !repeatable && isLostByGateway(response)
      ? new ProviderError('outcome-unknown', error.message, { cause: error })
      : error;
  }
}

function urlOf({ url, query }: RestRequest): string {
  if (!query) return url;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value ?? []].flat()) parameters.append(name, String(one));
  }
  const text = parameters.toString();
  return text === '' ? url : `${url}?${text}`;
}

function sent(accessToken: string | undefined, { method, headers, json, body }: RestRequest) {
  const content = json === undefined ? body : Buffer.from(JSON.stringify(json));
  return {
    method,
    headers: {
      accept: 'application/json',
      ...(accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(content === undefined ? {} : { body: content }),
  };
}
