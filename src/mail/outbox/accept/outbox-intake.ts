import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../../platform/base/time/clock.ts';
import { Batcher, type BatcherOptions } from '../../../platform/base/concurrency/batcher.ts';
import { KeyedLimit } from '../../../platform/base/concurrency/keyed-limit.ts';
import { databaseTrouble } from '../../../platform/database/health/database-trouble.ts';
import { outsideSpans } from '../../../platform/tracing/spans.ts';
import { currentTraceparent } from '../../../platform/tracing/traceparent.ts';
import { type NewOutboxMessage, OutboxRepository } from '../outbox.repository.ts';

/**
 * While the database is unreachable, a message fails after this wait, like a request that waits
 * this long for a connection.
 */
const PATIENCE_MS = 5_000;

/**
 * Messages of one account that wait at a time for the account's removal to finish; each occupies a
 * connection.
 */
const MOST_WAITING_OF_ACCOUNT = 2;

/** SQLSTATE of deadlocks and serialization failures: one of the accounts is being removed. */
const TRANSACTION_CONFLICT = /^40/;

/**
 * Whether the error is about one message and not about the database. Then the statement has stored
 * nothing, and the other messages can be stored without that one. After a lost connection, all of
 * them may be stored already.
 */
function isAboutOne(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return (
    databaseTrouble(error) === null || (typeof code === 'string' && TRANSACTION_CONFLICT.test(code))
  );
}

interface Waiting {
  message: NewOutboxMessage;
  since: number;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Two statements run at a time: while one waits for the disk, the next is assembled. A statement
 * stores 4 MiB of MIME bytes at most, or one larger message.
 */
const STATEMENTS: BatcherOptions<Waiting> = {
  most: 100,
  parallel: 2,
  delayMs: 0,
  size: { of: ({ message }) => message.mime.length, most: 4 * 1024 * 1024 },
};

/**
 * Stores new messages in batches. Messages that arrive while statements are running share the next
 * statement and its commit. Otherwise a message is stored at once.
 */
@Injectable()
export class OutboxIntake {
  readonly #statements = new Batcher<Waiting>(
    (batch) => outsideSpans(() => this.#write(batch)),
    STATEMENTS,
  );
  /** Error of the last statement if the database was unreachable, else `null`. */
  #away: unknown = null;
  readonly #waitingForAccount = new KeyedLimit(MOST_WAITING_OF_ACCOUNT);

  constructor(private readonly repository: OutboxRepository) {}

  /**
   * Stores a message that needs no other rows, and resolves once it is committed. A message that
   * cannot be stored does not make the others of its batch fail.
   * @throws the driver's error. The message was not stored then, unless the connection was lost:
   *   then it may be stored.
   */
  accept(message: NewOutboxMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      // The batch that stores the message serves several traces.
      const traceparent = currentTraceparent();
      const traced = traceparent === null ? message : { ...message, traceparent };
      this.#statements.add({ message: traced, since: monotonicMs(), resolve, reject });
    });
  }

  /** Never rejects. */
  async #write(batch: Waiting[]): Promise<void> {
    const timely = this.#away === null ? batch : this.#withoutLate(batch, this.#away);
    if (timely.length > 0) await this.#insert(timely);
  }

  /** Never rejects. */
  async #insert(batch: Waiting[]): Promise<void> {
    try {
      const stored = await this.repository.insertTogether(batch.map(({ message }) => message));
      this.#away = null;
      for (const waiting of batch) {
        if (stored.has(waiting.message.id)) waiting.resolve();
        // Insert it alone: it is waiting for a lock on its account and must not delay the rest of
        // the batch.
        else this.#insertAlone(waiting.message).then(waiting.resolve, waiting.reject);
      }
    } catch (error) {
      this.#away = databaseTrouble(error) === 'away' ? error : null;
      if (batch.length === 1 || !isAboutOne(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      // The statement has stored nothing. Halve the batch until the message that fails is alone.
      const middle = batch.length >> 1;
      await this.#insert(batch.slice(0, middle));
      await this.#insert(batch.slice(middle));
    }
  }

  #insertAlone(message: NewOutboxMessage): Promise<void> {
    return this.#waitingForAccount.run(message.accountId, () => this.repository.insert(message));
  }

  /** Fails messages that have waited too long for an unreachable database. @returns the others */
  #withoutLate(batch: Waiting[], error: unknown): Waiting[] {
    const before = monotonicMs() - PATIENCE_MS;
    for (const { since, reject } of batch) if (since < before) reject(error);
    return batch.filter(({ since }) => since >= before);
  }
}
