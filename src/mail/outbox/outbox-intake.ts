import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/base/time/clock.ts';
import { KeyedLimit } from '../../platform/base/concurrency/keyed-limit.ts';
import { databaseTrouble } from '../../platform/database/database-trouble.ts';
import { type NewOutboxMessage, OutboxRepository } from './outbox.repository.ts';

/** Statements under way at a time: while one waits for the disk, the next is put together. */
const MOST_RUNNING = 2;
const MOST_MESSAGES = 100;
/** MIME of one statement; a message beyond it goes alone. */
const MOST_BYTES = 4 * 1024 * 1024;
/** While the database is away nobody waits longer than for a connection of their own. */
const PATIENCE_MS = 5_000;

/** Messages of one account that wait for whoever is removing it; each holds a connection. */
const MOST_OF_REMOVED = 2;

/** Deadlock, serialization: somebody is removing one of the accounts. */
const CROSSED = /^40/;

/**
 * Whether the error is about one message and not about the database: then the statement has left nothing behind, and the
 * others can be stored without it. Where a connection was lost, all of them may be stored already.
 */
function isAboutOne(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return databaseTrouble(error) === null || (typeof code === 'string' && CROSSED.test(code));
}

interface Waiting {
  message: NewOutboxMessage;
  since: number;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Stores new messages. What arrives while statements are under way is written together by the next one: requests that
 * come at the same time share one statement and one commit, and none waits for company when there is none.
 */
@Injectable()
export class OutboxIntake {
  #waiting: Waiting[] = [];
  #running = 0;
  #planned = false;
  /** Why the last statement could not reach the database; null: it could. */
  #away: unknown = null;
  readonly #removed = new KeyedLimit(MOST_OF_REMOVED);

  constructor(private readonly repository: OutboxRepository) {}

  /**
   * Resolves when the message is committed; nothing is stored alongside. A message that cannot be stored fails alone.
   * @throws the driver's error: then it is not stored, or, where the connection was lost, perhaps
   */
  accept(message: NewOutboxMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ message, since: monotonicMs(), resolve, reject });
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#planned || this.#running >= MOST_RUNNING || this.#waiting.length === 0) return;
    this.#planned = true;
    // After what has been received in this turn of the event loop.
    setImmediate(() => {
      this.#planned = false;
      this.#start();
    });
  }

  #start(): void {
    const batch = this.#take();
    if (batch.length === 0) return;
    this.#running += 1;
    void this.#write(batch).then(() => {
      this.#running -= 1;
      if (this.#away !== null) this.#giveUp(this.#away);
      this.#plan();
    });
    this.#plan();
  }

  #take(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { message } of this.#waiting) {
      bytes += message.mime.length;
      if (count > 0 && (count === MOST_MESSAGES || bytes > MOST_BYTES)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  /** Never rejects. */
  async #write(batch: Waiting[]): Promise<void> {
    try {
      const stored = await this.repository.insertTogether(batch.map(({ message }) => message));
      this.#away = null;
      for (const waiting of batch) {
        if (stored.has(waiting.message.id)) waiting.resolve();
        // It waits for its account, and nobody for it.
        else this.#insertAlone(waiting.message).then(waiting.resolve, waiting.reject);
      }
    } catch (error) {
      this.#away = databaseTrouble(error) === 'away' ? error : null;
      if (batch.length === 1 || !isAboutOne(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      // The statement left nothing behind: halves, until whoever is wrong is alone.
      const middle = batch.length >> 1;
      await this.#write(batch.slice(0, middle));
      await this.#write(batch.slice(middle));
    }
  }

  #insertAlone(message: NewOutboxMessage): Promise<void> {
    return this.#removed.run(message.accountId, () => this.repository.insert(message));
  }

  #giveUp(error: unknown): void {
    const before = monotonicMs() - PATIENCE_MS;
    const late = this.#waiting.filter(({ since }) => since < before);
    this.#waiting = this.#waiting.filter(({ since }) => since >= before);
    for (const { reject } of late) reject(error);
  }
}
