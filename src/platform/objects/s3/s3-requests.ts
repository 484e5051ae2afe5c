import { createHash, randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { AwsV4Signer } from 'aws4fetch';
import { KeyedLimit } from '../../base/concurrency/keyed-limit.ts';
import { monotonicMs } from '../../base/time/clock.ts';
import { whenNeeded } from '../../base/when-needed.ts';
import type { ObjectsConfig } from '../../config/sections/objects-config.ts';
import { type EgressClient, type EgressResponse } from '../../egress/egress-client.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { countResult } from '../../metrics/count-result.ts';
import { objectRequests, objectSeconds } from '../../metrics/object-metrics.ts';
import { ObjectStoreUnavailableError } from '../object-errors.ts';
import { StoreBreaker } from '../store-breaker.ts';

/** One request to the store. */
export interface S3Request {
  /** For metrics. */
  operation: 'put' | 'get' | 'delete' | 'list';
  method: 'GET' | 'PUT' | 'DELETE';
  /** Key of the object inside the bucket; `''` for the bucket itself. */
  path: string;
  query?: Readonly<Record<string, string>>;
  body?: Buffer;
  /** Most bytes of the response's body that are read. */
  mostBytes: number;
  /**
   * Answers that the caller handles: a status, or a status and a code of S3 (`404 NoSuchKey`). All
   * others are troubles of the store: a 404 may also come from a proxy, or mean that the bucket is
   * gone.
   */
  accepted: readonly string[];
}

/** How long requests may take, in milliseconds. */
export interface S3Limits {
  /** One attempt, including its connection. Default: 10 s. */
  attemptMs: number;
  /** All attempts and the pauses between them. Default: 25 s. */
  totalMs: number;
  /** The longest pause after the first failed attempt; doubled after each. Default: 200 ms. */
  pauseMs: number;
}

const DEFAULTS: S3Limits = { attemptMs: 10_000, totalMs: 25_000, pauseMs: 200 };
const MOST_ATTEMPTS = 4;
/** As many as the egress client opens connections to one origin. */
const AT_ONCE = 32;

const signer = whenNeeded(
  import.meta.url,
  (require) => (require('aws4fetch') as { AwsV4Signer: typeof AwsV4Signer }).AwsV4Signer,
);

const hex = (contents: Buffer): string => createHash('sha256').update(contents).digest('hex');
const EMPTY_HASH = hex(Buffer.alloc(0));

/** An attempt that did not succeed. */
interface Trouble {
  words: string;
  /** Whether the next attempt may succeed. */
  isPassing: boolean;
  cause?: unknown;
}

/**
 * Makes signed requests to an S3-compatible store (AWS signature version 4), at most 32 at a time.
 * All requests are idempotent, so they are repeated after a lost connection, a time-out, HTTP 429
 * and 5xx: up to four attempts with random pauses. A circuit breaker refuses requests while the
 * store is away.
 */
export class S3Requests {
  readonly breaker: StoreBreaker;
  readonly #config: ObjectsConfig;
  readonly #egress: Pick<EgressClient, 'request'>;
  readonly #limits: S3Limits;
  readonly #limit = new KeyedLimit(AT_ONCE);
  /** Signing keys of a day. */
  readonly #signingKeys = new Map<string, ArrayBuffer>();

  constructor(
    config: ObjectsConfig,
    egress: Pick<EgressClient, 'request'>,
    limits: Partial<S3Limits> = {},
    breaker = new StoreBreaker(),
  ) {
    this.#config = config;
    this.#egress = egress;
    this.#limits = { ...DEFAULTS, ...limits };
    this.breaker = breaker;
  }

  /**
   * @returns one of the accepted answers
   * @throws {ObjectStoreUnavailableError}
   */
  send(request: S3Request): Promise<EgressResponse> {
    return this.#limit.run('', () => this.#attempts(request));
  }

  async #attempts(request: S3Request): Promise<EgressResponse> {
    const begunMs = monotonicMs();
    for (let attempt = 1; ; attempt += 1) {
      const waitMs = this.breaker.waitMs();
      if (waitMs > 0) throw unavailable(this.breaker.problem ?? 'was away', waitMs);
      const result = await this.#attempt(request);
      if ('status' in result) return result;
      const pauseMs = randomInt(1 + this.#limits.pauseMs * 2 ** (attempt - 1));
      const leftMs = this.#limits.totalMs - (monotonicMs() - begunMs);
      if (!result.isPassing || attempt === MOST_ATTEMPTS || leftMs < pauseMs)
        throw unavailable(result.words, 5_000, result.cause);
      await delay(pauseMs);
    }
  }

  async #attempt(request: S3Request): Promise<EgressResponse | Trouble> {
    const begunMs = monotonicMs();
    let result: EgressResponse | Trouble;
    try {
      const response = await this.#exchange(request);
      const words = wordsOf(response);
      const isPassing = isPassingTrouble(response.status, words);
      result = request.accepted.includes(words) ? response : { words, isPassing };
    } catch (cause) {
      if (!(cause instanceof EgressError)) throw cause;
      result = { words: cause.message, isPassing: cause.kind !== 'blocked', cause };
    }
    const { operation } = request;
    const isAnswered = 'status' in result;
    countResult(objectRequests, ['operation', operation], isAnswered ? 'ok' : 'failed');
    objectSeconds.observe({ operation }, (monotonicMs() - begunMs) / 1000);
    if ('status' in result) this.breaker.succeeded();
    else this.breaker.failed(result.words);
    return result;
  }

  async #exchange({ method, path, query, body, mostBytes }: S3Request): Promise<EgressResponse> {
    const { origin, bucket, region, accessKeyId, secretAccessKey } = this.#config;
    const search = query ? `?${new URLSearchParams(query).toString()}` : '';
    const url = `${origin}/${bucket}${path === '' ? '' : `/${path}`}${search}`;
    const Signer = signer();
    const signed = await new Signer({
      method,
      url,
      headers: { 'x-amz-content-sha256': body ? hex(body) : EMPTY_HASH },
      accessKeyId,
      secretAccessKey,
      region,
      service: 's3',
      cache: this.#signingKeys,
    }).sign();
    const headers = Object.fromEntries(signed.headers);
    const sent = { method, headers, ...(body ? { body } : {}) };
    const { attemptMs: deadlineMs } = this.#limits;
    return this.#egress.request(url, sent, { deadlineMs, maxBodyBytes: mostBytes });
  }
}

function unavailable(reason: string, waitMs: number, cause?: unknown): ObjectStoreUnavailableError {
  return new ObjectStoreUnavailableError(reason, Math.ceil(waitMs / 1000), cause);
}

const CODE = /<Code>([A-Za-z]{1,64})<\/Code>/;

/**
 * Status and code of an answer. S3 names the trouble in the body, such as `SlowDown` or
 * `SignatureDoesNotMatch`.
 */
function wordsOf({ status, body }: EgressResponse): string {
  if (status < 400) return String(status);
  const code = CODE.exec(body.subarray(0, 4_096).toString('latin1'))?.[1];
  return code === undefined ? String(status) : `${status} ${code}`;
}

const isPassingTrouble = (status: number, words: string): boolean =>
  status === 429 || status >= 500 || words === '400 RequestTimeout';
