import { Quota } from '../../remote-stub/quota.ts';
import { GraphError } from '../http/types.ts';
import type { StubSettings } from '../settings.ts';

/** What one mailbox was asked for. Refused requests count. */
export interface MailboxUse {
  /** All requests so far. */
  requests: number;
  /** Most requests in one window. */
  mostRequests: number;
  /** Most requests at the same time. */
  mostConcurrent: number;
  /** Most messages in one minute. */
  mostSends: number;
  /** Number of answers with 429 that the limits caused. */
  refusals: number;
}

interface Concurrency {
  running: number;
  most: number;
  refusals: number;
}

/** Exchange's limits on requests to a mailbox. All applications count together. */
export class MailboxQuotas {
  readonly #settings: StubSettings;
  readonly #requests: Quota;
  readonly #sends: Quota;
  readonly #uploads: Quota;
  readonly #concurrency = new Map<string, Concurrency>();

  constructor(settings: StubSettings, now: () => number) {
    this.#settings = settings;
    this.#requests = new Quota({ units: 0, windowMs: 0 }, now);
    this.#sends = new Quota({ units: 0, windowMs: 60_000 }, now);
    this.#uploads = new Quota({ units: 0, windowMs: 300_000 }, now);
  }

  /** What the mailbox was asked for at most. */
  useOf(email: string): MailboxUse {
    const key = email.toLowerCase();
    const { most, refusals } = this.#of(key);
    return {
      requests: this.#requests.total(key).requests,
      mostRequests: this.#requests.highest(key),
      mostConcurrent: most,
      mostSends: this.#sends.highest(key),
      refusals: refusals + this.#requests.refusals(key) + this.#sends.refusals(key),
    };
  }

  /**
   * Counts a request. Call the result once, when the request has been answered.
   * @throws {GraphError} 429 if there are too many
   */
  enter(email: string): () => void {
    const { requestsPerWindow: units, windowMs, concurrentRequests } = this.#settings;
    const key = email.toLowerCase();
    const concurrency = this.#of(key);
    concurrency.most = Math.max(concurrency.most, concurrency.running + 1);
    this.#requests.limit = { units, windowMs };
    const waitMs = this.#requests.take(key, 1);
    if (waitMs > 0) throw this.#refusal('MailboxRequests', waitMs);
    if (concurrency.running >= concurrentRequests) {
      concurrency.refusals += 1;
      throw this.#refusal('MailboxConcurrency', 1_000);
    }
    concurrency.running += 1;
    return () => {
      concurrency.running -= 1;
    };
  }

  /**
   * Counts a message that the mailbox sends.
   * @throws {GraphError} 429 if there are too many
   */
  send(email: string): void {
    this.#sends.limit = { units: this.#settings.sendsPerMinute, windowMs: 60_000 };
    const waitMs = this.#sends.take(email.toLowerCase(), 1);
    if (waitMs > 0) throw this.#refusal('MessageRate', waitMs);
  }

  /**
   * Counts bytes that an application uploads to the mailbox.
   * @throws {GraphError} 429 if there are too many
   */
  upload(email: string, bytes: number): void {
    this.#uploads.limit = { units: this.#settings.uploadBytes, windowMs: 300_000 };
    const waitMs = this.#uploads.take(email.toLowerCase(), bytes);
    if (waitMs > 0) throw this.#refusal('UploadBytes', waitMs);
  }

  #refusal(limit: string, waitMs: number): GraphError {
    const headers: Record<string, string> = this.#settings.sendsRetryAfter
      ? { 'retry-after': String(Math.ceil(waitMs / 1_000)) }
      : {};
    const text = `Application is over its ${limit} limit.`;
    return new GraphError(429, 'ApplicationThrottled', text, headers);
  }

  #of(key: string): Concurrency {
    const known = this.#concurrency.get(key);
    if (known) return known;
    const made = { running: 0, most: 0, refusals: 0 };
    this.#concurrency.set(key, made);
    return made;
  }
}
