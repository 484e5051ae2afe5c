export interface BatcherOptions {
  /** Items per call. */
  most: number;
  /** Calls at a time; what comes while that many run goes together afterwards. */
  parallel: number;
  /**
   * How long an item waits for company while other calls run, in milliseconds; where many come at a time, also after these have
   * ended. Else it does not wait.
   */
  delayMs: number;
}

/** After a call with so many items the next ones wait out their time: a call costs much, an item more hardly anything. */
const MANY = 10;

/** Collects items and handles them together: few at a time when little happens, many when much does. */
export class Batcher<T> {
  readonly #handle: (items: T[]) => Promise<void>;
  readonly #options: BatcherOptions;
  #waiting: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  readonly #running = new Set<Promise<void>>();
  /** Whether something has waited its time, and no call was free. */
  #overdue = false;

  /** @param handle gets at least one item; must not reject */
  constructor(handle: (items: T[]) => Promise<void>, options: BatcherOptions) {
    this.#handle = handle;
    this.#options = options;
  }

  add(item: T): void {
    this.#waiting.push(item);
    const { most, delayMs } = this.#options;
    if (this.#waiting.length >= most) this.#flush();
    else if (this.#timer) return;
    // Whatever else comes in this turn of the event loop goes along.
    else if (this.#running.size === 0) this.#immediate ??= setImmediate(() => this.#flush());
    else this.#timer = setTimeout(() => this.#flush(), delayMs);
  }

  /** Handles what waits and resolves when nothing is being handled any more. */
  async drain(): Promise<void> {
    this.#flush();
    while (this.#running.size > 0) {
      await Promise.all(this.#running);
      this.#flush();
    }
  }

  #flush(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#timer = undefined;
    this.#immediate = undefined;
    while (this.#waiting.length > 0 && this.#running.size < this.#options.parallel) {
      const items = this.#waiting.splice(0, this.#options.most);
      const run = this.#handle(items).finally(() => {
        this.#running.delete(run);
        const waitsOut = this.#timer !== undefined && !this.#overdue && items.length >= MANY;
        if (this.#waiting.length > 0 && !waitsOut) this.#flush();
      });
      this.#running.add(run);
    }
    this.#overdue = this.#waiting.length > 0;
  }
}
