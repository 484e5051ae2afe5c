import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { DomainError } from '../base/errors/domain-error.ts';

/** The account or application has as many open requests of one kind as it may have. */
export class TooManyReadersError extends DomainError {
  constructor(what: string, owner: string, limit: number) {
    const message = `Too many concurrent requests to ${what} for one ${owner} (limit ${limit})`;
    super('delta.too-many-readers', 'rate-limited', message, { limit, retryAfterSeconds: 1 });
  }
}

/**
 * Limits how many long-running requests of one kind each account or application may have at the
 * same time. Counted per process.
 */
export class ReaderSlots {
  readonly #open = new KeyedCount();

  /**
   * @param what name of the endpoint for the error text
   * @param owner what the keys identify, for the error text
   * @param most maximum number of requests with one key
   */
  constructor(
    private readonly what: string,
    private readonly owner: 'account' | 'application',
    private readonly most: number,
  ) {}

  /**
   * Runs `work` in one of the slots of a key.
   * @throws {TooManyReadersError} at once, if no slot is free
   */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#open.get(key) >= this.most)
      throw new TooManyReadersError(this.what, this.owner, this.most);
    this.#open.add(key, 1);
    try {
      return await work();
    } finally {
      this.#open.add(key, -1);
    }
  }
}
