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
  readonly #taken = new Map<string, number>();

  /** @param what names it in the refusal @param most places of one account */
  constructor(
    private readonly what: string,
    private readonly most: number,
  ) {}

  /** Runs `work` in a place. @throws {TooManyReadersError} when none is free; nobody waits for one */
  async hold<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const taken = this.#taken.get(accountId) ?? 0;
    if (taken >= this.most) throw new TooManyReadersError(this.what, this.most);
    this.#taken.set(accountId, taken + 1);
    try {
      return await work();
    } finally {
      const left = (this.#taken.get(accountId) ?? 1) - 1;
      if (left > 0) this.#taken.set(accountId, left);
      else this.#taken.delete(accountId);
    }
  }
}
