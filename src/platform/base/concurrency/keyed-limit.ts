/** Lets a few pieces of work of one key run at a time, and all others of that key wait in their order. */
export class KeyedLimit {
  readonly #lanes = new Map<string, { running: number; waiting: (() => void)[] }>();

  /** @param most how many of one key run at a time */
  constructor(private readonly most: number) {}

  /** Whether work of this key would run at once. */
  isFree(key: string): boolean {
    return (this.#lanes.get(key)?.running ?? 0) < this.most;
  }

  /** @throws what the work throws */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const lane = this.#lanes.get(key) ?? { running: 0, waiting: [] };
    this.#lanes.set(key, lane);
    // Whoever leaves hands its place on, so that nobody who comes now gets in between.
    if (lane.running >= this.most) await new Promise<void>((enter) => lane.waiting.push(enter));
    else lane.running += 1;
    try {
      return await work();
    } finally {
      const next = lane.waiting.shift();
      if (next) next();
      else if ((lane.running -= 1) === 0) this.#lanes.delete(key);
    }
  }
}
