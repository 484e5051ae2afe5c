/** When a `Batcher` hands its items on. */
export interface BatcherOptions {
  /** Items per call. */
  most: number;
  /** Calls at a time; what comes while that many run goes together afterwards. */
  parallel: number;
  /** How long an item waits for company while other calls run, in milliseconds. While none does, it does not wait. */
  delayMs: number;
}

/** Collects items and handles them together: few at a time when little happens, many when much does. */
export class Batcher<T> {
  readonly #handle: (items: T[]) => Promise<void>;
  readonly #options: BatcherOptions;
  #waiting: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  readonly #running = new Set<Promise<void>>();

  /** @param handle gets at least one item; must not reject */
  constructor(handle: (items: T[]) => Promise<void>, options: BatcherOptions) {
    this.#handle = handle;
    this.#options = options;
  }

  add(item: T): void {
    this.#waiting.push(item);
    const { most, delayMs } = this.#options;
    // Whatever else comes in this turn of the event loop goes along.
    if (this.#running.size === 0) this.#immediate ??= setImmediate(() => this.#flush());
    else if (this.#waiting.length >= most) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), delayMs);
  }

  /** Handles what waits and resolves when nothing is being handled any more. */
  async drain(): Promise<void> {
    this.#flush();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#timer = undefined;
    this.#immediate = undefined;
    while (this.#waiting.length > 0 && this.#running.size < this.#options.parallel) {
      const run = this.#handle(this.#waiting.splice(0, this.#options.most)).finally(() => {
        this.#running.delete(run);
        if (this.#waiting.length > 0) this.#flush();
      });
      this.#running.add(run);
    }
  }
}
