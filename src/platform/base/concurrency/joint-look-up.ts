import { Batcher } from './batcher.ts';

/** Two queries run at a time. Further callers wait for the next query, at most a second. */
const QUERIES = { most: 200, parallel: 2, delayMs: 0, patienceMs: 1_000 };

/**
 * Looks up values by key, with one query for many callers. Callers that arrive while two queries
 * run share the next query. A single caller is served at once. No caller gets the result of a query
 * that began before its call, so results are never older than with a query for each caller.
 */
export class JointLookUp<V> {
  readonly #waiting = new Map<string, PromiseWithResolvers<V | undefined>>();
  readonly #queries = new Batcher<string>((keys) => this.#run(keys), QUERIES);

  /** @param find gets 1 to 200 keys, each once; its result leaves out keys that it does not find */
  constructor(private readonly find: (keys: string[]) => Promise<ReadonlyMap<string, V>>) {}

  /**
   * Looks up one value.
   * @returns undefined if the key is not found. Several callers may get the same object
   * @throws the error of the query
   */
  get(key: string): Promise<V | undefined> {
    let waiter = this.#waiting.get(key);
    if (!waiter) {
      waiter = Promise.withResolvers();
      this.#waiting.set(key, waiter);
      this.#queries.add(key);
    }
    return waiter.promise;
  }

  async #run(keys: string[]): Promise<void> {
    const waiters = keys.map((key) => [key, this.#waiting.get(key)] as const);
    for (const key of keys) this.#waiting.delete(key);
    try {
      const found = await this.find(keys);
      for (const [key, waiter] of waiters) waiter?.resolve(found.get(key));
    } catch (error) {
      for (const [, waiter] of waiters) waiter?.reject(error);
    }
  }
}
