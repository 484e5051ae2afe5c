import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { DomainError } from '../base/errors/domain-error.ts';

const MB = 1024 * 1024;

/** Limits of bodies in memory. */
export interface BodyLimits {
  /** Bytes of all bodies together, from their first byte until their response was sent. */
  most: number;
  /** Bytes of the bodies of one account, application or client address. */
  ofOne: number;
  /** Number of requests that wait for room. */
  waiting: number;
  /** How long a request waits for room, in milliseconds. */
  waitMs: number;
}

/**
 * Limits of the bodies that a process has in memory. Those without credentials have room of their
 * own, which nobody can take from callers with credentials. docs/security/limits.md adds them up.
 */
export const BODY_LIMITS = {
  known: { most: 40 * MB, ofOne: 20 * MB, waiting: 200, waitMs: 60_000 },
  public: { most: 8 * MB, ofOne: 4 * MB, waiting: 200, waitMs: 60_000 },
} as const satisfies Record<string, BodyLimits>;

interface Waiting {
  caller: string;
  bytes: number;
  enter: () => void;
}

/**
 * Limits the bytes of request bodies in memory. A body that does not fit waits in its socket. The
 * one that has waited longest is next, except while its caller has too much.
 */
export class BodyBudget {
  readonly #taken = new KeyedCount();
  readonly #waiting = new Set<Waiting>();
  #total = 0;

  constructor(private readonly limits: BodyLimits) {}

  /**
   * Reserves room for a body.
   * @param caller who shares room with this body
   * @param bytes size of the body; one that is larger than `ofOne` counts as `ofOne`
   * @returns a function that gives the room back, to be called once
   * @throws {DomainError} 429 with Retry-After if there is no room for long, or too many wait
   */
  async take(caller: string, bytes: number): Promise<() => void> {
    const amount = Math.min(bytes, this.limits.ofOne);
    if (this.#fits(caller, amount)) this.#add(caller, amount);
    else await this.#wait(caller, amount);
    return () => {
      this.#add(caller, -amount);
      this.#admit();
    };
  }

  #fits(caller: string, bytes: number): boolean {
    const { most, ofOne } = this.limits;
    return this.#total + bytes <= most && this.#taken.get(caller) + bytes <= ofOne;
  }

  #add(caller: string, bytes: number): void {
    this.#total += bytes;
    this.#taken.add(caller, bytes);
  }

  #wait(caller: string, bytes: number): Promise<void> {
    if (this.#waiting.size >= this.limits.waiting) throw this.#tooMany();
    return new Promise((resolve, reject) => {
      const waiting = {
        caller,
        bytes,
        enter: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        reject(this.#tooMany());
      }, this.limits.waitMs);
      this.#waiting.add(waiting);
    });
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      const { caller, bytes, enter } = waiting;
      if (!this.#fits(caller, bytes)) continue;
      this.#waiting.delete(waiting);
      this.#add(caller, bytes);
      enter();
    }
  }

  #tooMany(): DomainError {
    const limit = this.limits.ofOne / MB;
    return new DomainError(
      'request.too-many-large',
      'rate-limited',
      `The server has no room for another request body of this size now; one client may have ${limit} MB of bodies in progress. Try again`,
      { limit, retryAfterSeconds: 1 },
    );
  }
}
