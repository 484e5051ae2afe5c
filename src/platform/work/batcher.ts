import { outsideSpans } from '../tracing/spans.ts';

export interface BatcherOptions {
  /** Maximum number of items in one call. */
  most: number;
  /**
   * Maximum number of calls at a time. Items that arrive meanwhile are handled together afterwards.
   */
  parallel: number;
  /**
   * How long an item waits for others while a call runs, in milliseconds. After a call with many
   * items it waits that long even if the call has ended. Otherwise it does not wait.
   */
  delayMs: number;
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
  readonly #options: BatcherOptions;
  #waiting: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  readonly #running = new Set<Promise<void>>();
  /** Whether items have waited their full time and no call was free. */
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
    // Items that arrive in the same iteration of the event loop go along.
    else if (this.#running.size === 0) this.#immediate ??= setImmediate(() => this.#flush());
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

  #flush(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#timer = undefined;
    this.#immediate = undefined;
    while (this.#waiting.length > 0 && this.#running.size < this.#options.parallel) {
      const items = this.#waiting.splice(0, this.#options.most);
      const run = outsideSpans(() => this.#handle(items)).finally(() => {
        this.#running.delete(run);
        const waitsOut = this.#timer !== undefined && !this.#overdue && items.length >= MANY;
        if (this.#waiting.length > 0 && !waitsOut) this.#flush();
      });
      this.#running.add(run);
    }
    this.#overdue = this.#waiting.length > 0;
  }
}
