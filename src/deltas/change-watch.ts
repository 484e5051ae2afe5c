import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Signals } from '../platform/work/signals.ts';
import { DeltasRepository } from './deltas.repository.ts';

const TICK_MS = 1_000;

/**
 * One request waiting for changes of an account. Its creator ends it; a process shutdown ends it
 * too.
 */
export class ChangeWaiter {
  #rung = false;
  #ended = false;
  #wake: (() => void) | undefined;
  readonly #onEnd = new Set<() => void>();
  /** Number of the last change this request has read up to. */
  seenTo = 0;

  /** Wakes the waiting request: there may be changes to read. */
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
   * Waits until there may be new changes since the last wait. At most one wait at a time.
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

/**
 * Wakes waiting requests when there are changes to read. Commits in this process wake them
 * directly, commits in other processes by a database notification. A notification can be lost, and
 * a change can become readable without one (when an earlier transaction rolls back). So once a
 * second, a single statement also checks the accounts of all waiting requests.
 */
@Injectable()
export class ChangeWatch implements OnModuleDestroy {
  readonly #log = new Logger(ChangeWatch.name);
  readonly #waiting = new Map<string, Set<ChangeWaiter>>();
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | undefined;
  #checking = false;
  #closed = false;

  constructor(
    private readonly repository: DeltasRepository,
    signals: Signals,
  ) {
    this.#unsubscribe = signals.listen((signal) => {
      if (signal.kind === 'changed') this.#ring(signal.accounts);
    });
  }

  /** Number of waiting requests. */
  get size(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * Waits for changes of an account while `work` runs. Begin the wait before reading, so that no
   * change is missed.
   */
  async during<T>(accountId: string, work: (waiting: ChangeWaiter) => Promise<T>): Promise<T> {
    const waiting = new ChangeWaiter();
    if (this.#closed) waiting.end();
    const others = this.#waiting.get(accountId) ?? new Set();
    this.#waiting.set(accountId, others.add(waiting));
    this.#timer ??= setInterval(() => void this.#check(), TICK_MS);
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

  *#all(): Iterable<ChangeWaiter> {
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

  async #check(): Promise<void> {
    if (this.#checking) return;
    this.#checking = true;
    try {
      for (const [accountId, seq] of await this.repository.newest([...this.#waiting.keys()])) {
        for (const waiting of this.#waiting.get(accountId) ?? [])
          if (seq > waiting.seenTo) waiting.ring();
      }
    } catch (error) {
      this.#log.warn(
        `could not check for new changes; the next check follows in a second: ${error instanceof Error ? error.message : String(error)}`,
      );
    } finally {
      this.#checking = false;
    }
  }
}
