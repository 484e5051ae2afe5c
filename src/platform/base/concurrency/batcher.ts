export interface BatcherOptions<T> {
  /** Maximum number of items in one call. */
  most: number;
  /**
   * Maximum number of calls at a time. Items that arrive meanwhile are handled together afterwards.
   */
  parallel: number;
  /**
   * How long an item waits for others while a call runs, in milliseconds. After a call with many
   * items it waits that long even if the call has ended. Otherwise it does not wait. 0: it only
   * waits while `parallel` calls are running.
   */
  delayMs: number;
  /** Bounds the total size of the items of one call. A larger item is handled alone. */
  size?: { of: (item: T) => number; most: number };
  /**
   * A call that takes longer than this many milliseconds no longer delays the next one. Default:
   * there is no such limit.
   */
  patienceMs?: number;
}

/**
 * After a call with at least this many items, the next items wait their full time. A call is
 * expensive, and one more item in it costs almost nothing.
 */
const MANY = 10;

/**
 * Collects items and handles them together: small batches under low load, large ones under high
 * load.
 */
export class Batcher<T> {
  readonly #handle: (items: T[]) => Promise<void>;
  readonly #options: BatcherOptions<T>;
  #waiting: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  readonly #running = new Set<Promise<void>>();
  /** How many running calls delay the next one. */
  #delaying = 0;
  /** Whether items have waited their full time and no call was free. */
  #overdue = false;

  /** @param handle gets at least one item; must not reject */
  constructor(handle: (items: T[]) => Promise<void>, options: BatcherOptions<T>) {
    this.#handle = handle;
    this.#options = options;
  }

  add(item: T): void {
    this.#waiting.push(item);
    const { most, delayMs } = this.#options;
    if (this.#waiting.length >= most) this.#flush();
    else if (this.#timer) return;
    else if (this.#delaying === 0 || delayMs === 0) this.#flushSoon();
    else this.#timer = setTimeout(() => this.#flush(), delayMs);
  }

  /** Handles the waiting items, and resolves when no call is running. */
  async drain(): Promise<void> {
    this.#flush();
    while (this.#running.size > 0) {
      await Promise.all(this.#running);
      this.#flush();
    }
  }

  /** Items that arrive in the same iteration of the event loop go along. */
  #flushSoon(): void {
    this.#immediate ??= setImmediate(() => this.#flush());
  }

  #flush(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#timer = undefined;
    this.#immediate = undefined;
    while (this.#waiting.length > 0 && this.#delaying < this.#options.parallel) {
      const items = this.#waiting.splice(0, this.#mostNow());
      this.#start(items);
    }
    this.#overdue = this.#waiting.length > 0;
  }

  #start(items: T[]): void {
    this.#delaying += 1;
    let delays = true;
    const letGo = () => {
      if (!delays) return;
      delays = false;
      this.#delaying -= 1;
      const waitsOut = this.#timer !== undefined && !this.#overdue && items.length >= MANY;
      if (this.#waiting.length > 0 && !waitsOut) this.#flushSoon();
    };
    const { patienceMs } = this.#options;
    const patience = patienceMs === undefined ? undefined : setTimeout(letGo, patienceMs);
    const run = this.#handle(items).finally(() => {
      clearTimeout(patience);
      this.#running.delete(run);
      letGo();
    });
    this.#running.add(run);
  }

  /** How many of the waiting items the next call gets, at least one. */
  #mostNow(): number {
    const { most, size } = this.#options;
    if (!size) return most;
    let total = 0;
    const over = this.#waiting.findIndex((item) => (total += size.of(item)) > size.most);
    return over < 0 ? most : Math.min(most, Math.max(over, 1));
  }
}
