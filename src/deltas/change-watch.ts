import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Signals } from '../platform/work/signals.ts';
import { DeltasRepository } from './deltas.repository.ts';

const TICK_MS = 1_000;

/** One who waits for changes of an account. Ended by whoever made it, and when the process stops. */
export class Waiting {
  #rung = false;
  #ended = false;
  #wake: (() => void) | undefined;
  readonly #onEnd = new Set<() => void>();
  /** Number of the last change that has been looked at. */
  seenTo = 0;

  /** There may be something to read. */
  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Nothing is waited for any more. May be called often. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
    for (const ended of this.#onEnd) ended();
  }

  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Waits for something else, or until this ends.
   * @param begin is given what to call; it returns what stops it from calling
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
   * Waits until there may be something to read that was not there when the last wait ended; at most one wait at a time.
   * @returns false: it has ended
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

/**
 * Tells those who wait when there is something to read. They hear of commits in this process and, by notification, in
 * others. Notifications can be lost and a change can become readable without one (a transaction before it is rolled
 * back), so once a second all of them are looked after in one statement, however many they are.
 */
@Injectable()
export class ChangeWatch implements OnModuleDestroy {
  readonly #log = new Logger(ChangeWatch.name);
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #closed = false;

  constructor(
    private readonly repository: DeltasRepository,
    signals: Signals,
  ) {
    this.#unsubscribe = signals.listen((signal) => {
      if (signal.kind === 'changed') this.#ring(signal.accounts);
    });
  }

  /** How many wait. */
  get size(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Waits for changes of an account while `work` runs; read after this begins, and nothing is missed. */
  async during<T>(accountId: string, work: (waiting: Waiting) => Promise<T>): Promise<T> {
    const waiting = new Waiting();
    if (this.#closed) waiting.end();
    const others = this.#waiting.get(accountId) ?? new Set();
    this.#waiting.set(accountId, others.add(waiting));
    this.#timer ??= setInterval(() => void this.#look(), TICK_MS);
    try {
      return await work(waiting);
    } finally {
      others.delete(waiting);
      if (others.size === 0 && this.#waiting.get(accountId) === others)
        this.#waiting.delete(accountId);
      if (this.#waiting.size === 0) this.#stop();
    }
  }

  onModuleDestroy(): void {
    this.#closed = true;
    this.#unsubscribe();
    this.#stop();
    for (const waiting of this.#all()) waiting.end();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  *#all(): Iterable<Waiting> {
    for (const set of this.#waiting.values()) yield* set;
  }

  #ring(accounts: readonly string[] | 'all'): void {
    if (accounts === 'all') {
      for (const waiting of this.#all()) waiting.ring();
      return;
    }
    for (const accountId of accounts)
      for (const waiting of this.#waiting.get(accountId) ?? []) waiting.ring();
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      for (const [accountId, seq] of await this.repository.newest([...this.#waiting.keys()])) {
        for (const waiting of this.#waiting.get(accountId) ?? [])
          if (seq > waiting.seenTo) waiting.ring();
      }
    } catch (error) {
      this.#log.warn(
        `could not look for changes: ${error instanceof Error ? error.message : String(error)}`,
      );
    } finally {
      this.#looking = false;
    }
  }
}
