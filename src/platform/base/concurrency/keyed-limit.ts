/** Limits how much work of one key runs at a time. Other work of that key waits in order. */
export class KeyedLimit {
  readonly #queues = new Map<string, { running: number; waiting: (() => void)[] }>();

  /** @param most how much work of one key may run at a time */
  constructor(private readonly most: number) {}

  /** Whether work of this key would start at once. */
  isFree(key: string): boolean {
    return (this.#queues.get(key)?.running ?? 0) < this.most;
  }

  /**
   * Runs work as soon as its key has a free slot.
   * @throws the error of the work
   */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(key) ?? { running: 0, waiting: [] };
    this.#queues.set(key, queue);
    // Finished work passes its slot directly to the next in the queue, so that new work cannot
    // overtake it.
    if (queue.running >= this.most) await new Promise<void>((enter) => queue.waiting.push(enter));
    else queue.running += 1;
    try {
      return await work();
    } finally {
      const next = queue.waiting.shift();
      if (next) next();
      else if ((queue.running -= 1) === 0) this.#queues.delete(key);
    }
  }
}
