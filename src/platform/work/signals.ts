import { Logger } from '@nestjs/common';
import { afterCommit, type Sql } from '../database/sql.ts';

/** Names of the queues; each is a table of due work. */
export const QUEUES = ['send', 'provider', 'hook', 'reminder', 'sync'] as const;
export type QueueName = (typeof QUEUES)[number];

/** What a commit leads to. It carries no data: those who hear it read the database. */
export type Signal =
  /** A queue has work that is due in `inMs` milliseconds; 0: now. */
  | { kind: 'due'; queue: QueueName; inMs: number; elsewhere: boolean }
  /** The change logs of these accounts have grown; `all`: nobody knows which. */
  | { kind: 'changed'; accounts: readonly string[] | 'all'; elsewhere: boolean };

/**
 * The signals of a process: the engine hears that there is work, waiting readers hear that there are changes, and the notifier tells
 * other processes. `elsewhere` marks what another process has committed: it is not passed on again. A lost signal costs at
 * most a second, because due work and changes are rows, and everybody also looks at them by itself.
 */
export class Signals {
  readonly #log = new Logger(Signals.name);
  readonly #listeners = new Set<(signal: Signal) => unknown>();

  /** Call after the commit, never inside the transaction. Does not throw. */
  send(signal: Signal): void {
    for (const listener of this.#listeners) {
      try {
        listener(signal);
      } catch (error) {
        this.#log.error(error);
      }
    }
  }

  /** Says that a queue has work due now. Call after the commit; see `wakeAfterCommit`. */
  wake(queue: QueueName): void {
    this.send({ kind: 'due', queue, inMs: 0, elsewhere: false });
  }

  /** @returns a function that removes the listener */
  listen(listener: (signal: Signal) => unknown): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Those of this process: functions that write in a transaction send them, and they know no injector. */
export const signals = new Signals();

/**
 * Wakes a queue once the transaction of `sql` has committed. Whoever writes a row into a queue calls this, so that no caller has
 * to remember it.
 * @param inMs milliseconds until the work is due
 */
export function wakeAfterCommit(sql: Sql, queue: QueueName, inMs = 0): void {
  afterCommit(sql, () => signals.send({ kind: 'due', queue, inMs, elsewhere: false }));
}
