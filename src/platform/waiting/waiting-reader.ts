/**
 * One request that waits until a log has grown. Its creator ends it; a process shutdown ends it
 * too.
 */
export class WaitingReader {
  #rung = false;
  #ended = false;
  #wake: (() => void) | undefined;
  readonly #onEnd = new Set<() => void>();
  /** Number of the last row this request has read up to. */
  seenTo = 0;

  /** Wakes the waiting request: there may be rows to read. */
  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Ends the wait. May be called more than once. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
    for (const ended of this.#onEnd) ended();
  }

  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Waits for another event, or until this wait ends.
   * @param begin receives the callback for the event and returns a function that cancels it
   */
  async unlessEnded(begin: (done: () => void) => () => void): Promise<void> {
    if (this.#ended) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = begin(resolve);
    this.#onEnd.add(resolve);
    await promise;
    this.#onEnd.delete(resolve);
    stop();
  }

  /**
   * Waits until there may be new rows since the last wait. At most one wait at a time.
   * @returns `false` if the wait has ended
   */
  async next(): Promise<boolean> {
    if (!this.#rung && !this.#ended) {
      await new Promise<void>((wake) => (this.#wake = wake));
      this.#wake = undefined;
    }
    this.#rung = false;
    return !this.#ended;
  }
}
