import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { DomainError } from '../base/errors/domain-error.ts';

/** As many as an account may have are open already. */
export class TooManyReadersError extends DomainError {
  constructor(what: string, limit: number) {
    const message = `Too many concurrent requests to ${what} for one account (limit ${limit})`;
    super('delta.too-many-readers', 'rate-limited', message, { limit, retryAfterSeconds: 1 });
  }
}

/** Places that each account has for something that takes long; counted in this process. */
export class AccountPlaces {
  readonly #taken = new KeyedCount();

  /** @param what names it in the refusal @param most places of one account */
  constructor(
    private readonly what: string,
    private readonly most: number,
  ) {}

  /** Runs `work` in a place. @throws {TooManyReadersError} when none is free; nobody waits for one */
  async hold<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    if (this.#taken.get(accountId) >= this.most)
      throw new TooManyReadersError(this.what, this.most);
    this.#taken.add(accountId, 1);
    try {
      return await work();
    } finally {
      this.#taken.add(accountId, -1);
    }
  }
}
