/** Collects items for a short while and handles them together. */
export class Batcher<T> {
  readonly #handle: (items: T[]) => Promise<void>;
  readonly #delayMs: number;
  readonly #most: number;
  #waiting: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #running = new Set<Promise<void>>();

  /**
   * @param handle gets at least one item; must not reject
   * @param delayMs how long the first item waits for company
   * @param most items per call
   */
  constructor(handle: (items: T[]) => Promise<void>, delayMs: number, most: number) {
    this.#handle = handle;
    this.#delayMs = delayMs;
    this.#most = most;
  }

  add(item: T): void {
    this.#waiting.push(item);
    if (this.#waiting.length >= this.#most) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), this.#delayMs);
  }

  /** Handles what waits and resolves when nothing is being handled any more. */
  async drain(): Promise<void> {
    this.#flush();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    const items = this.#waiting;
    this.#waiting = [];
    const run = this.#handle(items).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }
}
