import { monotonicMs } from '../time/clock.ts';

interface Window {
  count: number;
  endsMs: number;
}

/**
 * Counts events by key in this process. A key's window begins with its first event. Memory is
 * limited: above `mostKeys` keys, the key whose window began first is removed.
 */
export class WindowedCounts {
  readonly #windows = new Map<string, Window>();
  readonly #lengthMs: number;
  readonly #mostKeys: number;

  /**
   * @param lengthSeconds length of a window
   * @param mostKeys maximum number of keys in memory
   */
  constructor(lengthSeconds: number, mostKeys = 10_000) {
    this.#lengthMs = lengthSeconds * 1000;
    this.#mostKeys = mostKeys;
  }

  /**
   * Counts one event.
   * @returns the key's count in its window, this event included, and the whole seconds until the
   *   window ends
   */
  add(key: string): { count: number; secondsLeft: number } {
    const now = monotonicMs();
    let window = this.#windows.get(key);
    if (!window || window.endsMs <= now) {
      this.#windows.delete(key);
      if (this.#windows.size >= this.#mostKeys) this.#forgetFirst();
      window = { count: 0, endsMs: now + this.#lengthMs };
      this.#windows.set(key, window);
    }
    window.count += 1;
    return {
      count: window.count,
      secondsLeft: Math.max(1, Math.ceil((window.endsMs - now) / 1000)),
    };
  }

  /** Number of keys in memory. */
  get size(): number {
    return this.#windows.size;
  }

  #forgetFirst(): void {
    for (const first of this.#windows.keys()) {
      this.#windows.delete(first);
      return;
    }
  }
}
