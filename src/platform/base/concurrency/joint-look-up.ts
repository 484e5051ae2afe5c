/** Number of queries that run at a time. Further callers wait and share the next query. */
const MOST_AT_ONCE = 2;
const MOST_KEYS = 200;
/** A query that takes longer than this no longer delays the next one, in milliseconds. */
const PATIENCE_MS = 1_000;

/**
 * Looks up values by key, with one query for many callers. Callers that arrive while two queries
 * run share the next query. A single caller is served at once. No caller gets the result of a query
 * that began before its call, so results are never older than with a query for each caller.
 */
export class JointLookUp<V> {
  #waiting = new Map<string, PromiseWithResolvers<V | undefined>>();
  #underWay = 0;
  #scheduled = false;

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
      this.#schedule();
    }
    return waiter.promise;
  }

  #schedule(): void {
    if (this.#scheduled || this.#underWay >= MOST_AT_ONCE || this.#waiting.size === 0) return;
    this.#scheduled = true;
    // Keys that arrive in the same iteration of the event loop share a query.
    setImmediate(() => {
      this.#scheduled = false;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    const taken = [...this.#waiting].slice(0, MOST_KEYS);
    for (const [key] of taken) this.#waiting.delete(key);
    this.#underWay += 1;
    let counted = true;
    const leave = () => {
      if (counted) this.#underWay -= 1;
      counted = false;
      this.#schedule();
    };
    const patience = setTimeout(leave, PATIENCE_MS);
    try {
      const found = await this.find(taken.map(([key]) => key));
      for (const [key, { resolve }] of taken) resolve(found.get(key));
    } catch (error) {
      for (const [, { reject }] of taken) reject(error);
    } finally {
      clearTimeout(patience);
      leave();
    }
  }
}
