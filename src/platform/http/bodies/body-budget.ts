import { KeyedCount } from '../../base/concurrency/keyed-count.ts';
import { DomainError } from '../../base/errors/domain-error.ts';

const MB = 1024 * 1024;

/** Limits of bodies in memory. */
export interface BodyLimits {
  /** Bytes of all bodies together, from their first byte until their response was sent. */
  most: number;
  /** Bytes of the bodies of one account, application or client address. */
  ofOne: number;
  /** Bytes of the bodies of one application and all of its accounts. */
  ofApplication: number;
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
  known: { most: 40 * MB, ofOne: 20 * MB, ofApplication: 30 * MB, waiting: 200, waitMs: 60_000 },
  public: { most: 8 * MB, ofOne: 4 * MB, ofApplication: 8 * MB, waiting: 200, waitMs: 60_000 },
} as const satisfies Record<string, BodyLimits>;

/** Who shares room with a body. */
export interface BodySender {
  /** Id of the account, application or operator, or a client address. */
  caller: string;
  /** Id of the application that the caller belongs to. */
  application?: string | undefined;
}

/** Room of one body. */
export interface TakenRoom {
  /** Gives back all but this many bytes. */
  shrink(bytes: number): void;
  /** Gives everything back. To be called once. */
  release(): void;
}

interface Waiting {
  sender: BodySender;
  bytes: number;
  enter: () => void;
}

/**
 * Limits the bytes of request bodies in memory. A body that does not fit waits in its socket. The
 * one that has waited longest is next, except while its caller or application has too much.
 */
export class BodyBudget {
  readonly #ofCallers = new KeyedCount();
  readonly #ofApplications = new KeyedCount();
  readonly #waiting = new Set<Waiting>();
  #total = 0;

  constructor(private readonly limits: BodyLimits) {}

  /**
   * Reserves room for a body.
   * @param bytes size of the body; one that is larger than `ofOne` counts as `ofOne`
   * @throws {DomainError} 429 with Retry-After if there is no room for long, or too many wait
   */
  async take(sender: BodySender, bytes: number): Promise<TakenRoom> {
    let amount = Math.min(bytes, this.limits.ofOne);
    if (this.#fits(sender, amount) && !this.#isAwaited()) this.#add(sender, amount);
    else await this.#wait(sender, amount);
    const keep = (less: number): void => {
      this.#add(sender, less - amount);
      amount = less;
      this.#admit();
    };
    return {
      shrink: (needed) => keep(Math.min(needed, amount)),
      release: () => keep(0),
    };
  }

  #fits(sender: BodySender, bytes: number): boolean {
    return this.#total + bytes <= this.limits.most && this.#mayHave(sender, bytes);
  }

  #mayHave({ caller, application }: BodySender, bytes: number): boolean {
    const { ofOne, ofApplication } = this.limits;
    if (this.#ofCallers.get(caller) + bytes > ofOne) return false;
    return !application || this.#ofApplications.get(application) + bytes <= ofApplication;
  }

  /** Whether a body waits for others to end, not for its own sender. Later ones wait behind it. */
  #isAwaited(): boolean {
    return [...this.#waiting].some(({ sender, bytes }) => this.#mayHave(sender, bytes));
  }

  #add({ caller, application }: BodySender, bytes: number): void {
    this.#total += bytes;
    this.#ofCallers.add(caller, bytes);
    if (application) this.#ofApplications.add(application, bytes);
  }

  #wait(sender: BodySender, bytes: number): Promise<void> {
    if (this.#waiting.size >= this.limits.waiting) throw this.#tooMany();
    return new Promise((resolve, reject) => {
      const waiting = {
        sender,
        bytes,
        enter: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        reject(this.#tooMany());
        // Others may have waited behind it.
        this.#admit();
      }, this.limits.waitMs);
      this.#waiting.add(waiting);
    });
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      const { sender, bytes, enter } = waiting;
      if (!this.#mayHave(sender, bytes)) continue;
      if (!this.#fits(sender, bytes)) return;
      this.#waiting.delete(waiting);
      this.#add(sender, bytes);
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
