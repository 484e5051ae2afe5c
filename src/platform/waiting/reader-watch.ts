import { Logger, type OnModuleDestroy } from '@nestjs/common';
import { WaitingReader } from './waiting-reader.ts';

const TICK_MS = 1_000;

/**
 * Wakes waiting requests when there is something new to read. A subclass calls `ring` when it
 * learns of it. Such a notice can be lost, so once a second `newest` also reads the logs of all
 * waiting requests.
 */
export abstract class ReaderWatch implements OnModuleDestroy {
  readonly #log = new Logger(this.constructor.name);
  readonly #waiting = new Map<string, Set<WaitingReader>>();
  #timer: NodeJS.Timeout | undefined;
  #checking = false;
  #closed = false;

  /**
   * Number of the newest row of each log that has one.
   * @param keys owners of the logs, at least one
   */
  protected abstract newest(keys: readonly string[]): Promise<ReadonlyMap<string, number>>;

  /** Number of waiting requests. */
  get size(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * Waits for new rows of one log while `work` runs. Begin the wait before reading, so that no row
   * is missed.
   * @param key owner of the log
   */
  async during<T>(key: string, work: (waiting: WaitingReader) => Promise<T>): Promise<T> {
    const waiting = new WaitingReader();
    if (this.#closed) waiting.end();
    const others = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, others.add(waiting));
    this.#timer ??= setInterval(() => void this.#check(), TICK_MS);
    try {
      return await work(waiting);
    } finally {
      others.delete(waiting);
      if (others.size === 0 && this.#waiting.get(key) === others) this.#waiting.delete(key);
      if (this.#waiting.size === 0) this.#stop();
    }
  }

  /** Wakes the requests that wait for these logs. */
  protected ring(keys: readonly string[] | 'all'): void {
    if (keys === 'all') {
      for (const waiting of this.#all()) waiting.ring();
      return;
    }
    for (const key of keys) for (const waiting of this.#waiting.get(key) ?? []) waiting.ring();
  }

  onModuleDestroy(): void {
    this.#closed = true;
    this.#stop();
    for (const waiting of this.#all()) waiting.end();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  *#all(): Iterable<WaitingReader> {
    for (const set of this.#waiting.values()) yield* set;
  }

  async #check(): Promise<void> {
    if (this.#checking) return;
    this.#checking = true;
    try {
      for (const [key, seq] of await this.newest([...this.#waiting.keys()])) {
        for (const waiting of this.#waiting.get(key) ?? [])
          if (seq > waiting.seenTo) waiting.ring();
      }
    } catch (error) {
      this.#log.warn(
        `could not check for new rows; the next check follows in a second: ${error instanceof Error ? error.message : String(error)}`,
      );
    } finally {
      this.#checking = false;
    }
  }
}
