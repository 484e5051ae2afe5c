import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { DomainError } from '../base/errors/domain-error.ts';

/** The account has as many open requests of one kind as it may have. */
export class TooManyReadersError extends DomainError {
  constructor(what: string, limit: number) {
    const message = `Too many concurrent requests to ${what} for one account (limit ${limit})`;
    super('delta.too-many-readers', 'rate-limited', message, { limit, retryAfterSeconds: 1 });
  }
}

/**
 * Limits how many long-running requests of one kind each account may have at the same time. Counted
 * per process.
 */
export class AccountSlots {
  readonly #open = new KeyedCount();

  /**
   * @param what name of the endpoint for the error text
   * @param most maximum number of requests of one account
   */
  constructor(
    private readonly what: string,
    private readonly most: number,
  ) {}

  /**
   * Runs `work` in one of the account's slots.
   * @throws {TooManyReadersError} at once, if no slot is free
   */
  async run<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    if (this.#open.get(accountId) >= this.most) throw new TooManyReadersError(this.what, this.most);
    this.#open.add(accountId, 1);
    try {
      return await work();
    } finally {
      this.#open.add(accountId, -1);
    }
  }
}
