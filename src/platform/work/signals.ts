import { Logger } from '../nest/light.ts';
import { afterCommit, type Sql } from '../database/sql.ts';

/** Names of the queues. Each queue is a table of due work. */
export const QUEUES = ['send', 'provider', 'hook', 'reminder', 'sync'] as const;
export type QueueName = (typeof QUEUES)[number];

/**
 * What a commit announces. A signal says where something is new, not what: its listeners read the
 * database.
 */
export type Signal =
  /** A queue has work that is due in `inMs` milliseconds; 0 means now. */
  | { kind: 'due'; queue: QueueName; inMs: number; elsewhere: boolean }
  /** A queue has more work due now than this process can take. */
  | { kind: 'overflow'; queue: QueueName }
  /** The change logs of these accounts have grown; `all` if the accounts are not known. */
  | { kind: 'changed'; accounts: readonly string[] | 'all'; elsewhere: boolean }
  /** Events of these applications were published; `all` if the applications are not known. */
  | { kind: 'published'; applications: readonly string[] | 'all'; elsewhere: boolean };

/**
 * The signals of a process. The engine learns that there is work, waiting readers learn that there
 * are changes, and the notifier informs other processes. `elsewhere` marks a commit of another
 * process, which the notifier does not send out again.
 *
 * Due work and changes are rows, and every listener also reads them at intervals. So a lost signal
 * costs at most a second.
 */
export class Signals {
  readonly #log = new Logger(Signals.name);
  readonly #listeners = new Set<(signal: Signal) => unknown>();

  /**
   * Calls all listeners. Call it after the commit, never inside the transaction. Does not throw.
   */
  send(signal: Signal): void {
    for (const listener of this.#listeners) {
      try {
        listener(signal);
      } catch (error) {
        this.#log.error(error);
      }
    }
  }

  /** Announces that a queue has work due now. Call it after the commit; see `wakeAfterCommit`. */
  wake(queue: QueueName): void {
    this.send({ kind: 'due', queue, inMs: 0, elsewhere: false });
  }

  /** @returns a function that removes the listener */
  listen(listener: (signal: Signal) => unknown): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/**
 * The signals of this process. Functions that write inside a transaction send signals too, and they
 * have no injector.
 */
export const signals = new Signals();

/**
 * Wakes a queue once the transaction of `sql` has committed. The function that writes a row into a
 * queue calls this, so that its callers need not remember it.
 * @param inMs milliseconds until the work is due
 */
export function wakeAfterCommit(sql: Sql, queue: QueueName, inMs = 0): void {
  afterCommit(sql, () => signals.send({ kind: 'due', queue, inMs, elsewhere: false }));
}
