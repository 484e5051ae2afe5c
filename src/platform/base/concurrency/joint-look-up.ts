/** How many look-ups are under way before the next askers wait and go together. */
const MOST_AT_ONCE = 2;
const MOST_KEYS = 200;
/** One that takes longer holds nobody up any more. */
const PATIENCE_MS = 1_000;

/**
 * Looks values up by key, many askers in one query: who asks while others are being answered goes with the next query,
 * and one who asks alone is answered at once. Nobody gets an answer from a query that began before he asked, so
 * nothing is ever older than with a query each.
 */
export class JointLookUp<V> {
  #waiting = new Map<string, PromiseWithResolvers<V | undefined>>();
  #underWay = 0;
  #scheduled = false;

  /** @param find gets at least one key and at most 200, each once; keys that are not found are left out of its answer */
  constructor(private readonly find: (keys: string[]) => Promise<ReadonlyMap<string, V>>) {}

  /**
   * @returns undefined when there is none. Several askers may get the same object
   * @throws what the query that was asked throws
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
    // Whatever has arrived in this turn of the event loop goes together.
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
