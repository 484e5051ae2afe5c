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
