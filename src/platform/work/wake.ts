import { Logger } from '@nestjs/common';

/** Names of the queues; each is a table of due work (design 6). */
export const QUEUES = ['send', 'provider', 'hook', 'reminder', 'sync'] as const;
export type QueueName = (typeof QUEUES)[number];

/**
 * How a feature tells the engine, after its commit, that there is work due now. Features do not know who listens;
 * a lost wake costs at most a second, because due work is rows and not messages.
 */
export class Wake {
  readonly #log = new Logger(Wake.name);
  readonly #listeners = new Set<(queue: QueueName) => void>();

  /** Call after the commit, never inside the transaction. Does not throw. */
  wake(queue: QueueName): void {
    for (const listener of this.#listeners) {
      try {
        listener(queue);
      } catch (error) {
        this.#log.error(error);
      }
    }
  }

  /** @returns a function that removes the listener */
  onWake(listener: (queue: QueueName) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/**
 * How the engine of this process hears of work that is due in a moment: it looks at that time, and nobody at once. Where no engine
 * runs, whoever has queued the work wakes the others instead. What is not heard of is found within a second of its time.
 */
export class LaterWork {
  readonly #listeners = new Set<(queue: QueueName, inMs: number) => void>();

  /** Whether an engine runs in this process. */
  get heard(): boolean {
    return this.#listeners.size > 0;
  }

  /** Call after the commit. @param inMs milliseconds until it is due */
  tell(queue: QueueName, inMs: number): void {
    for (const listener of this.#listeners) listener(queue, inMs);
  }

  /** @param listener must not throw @returns a function that removes it */
  onLater(listener: (queue: QueueName, inMs: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The one of this process: transactions anywhere in it tell it, and they know no injector. */
export const laterWork = new LaterWork();
