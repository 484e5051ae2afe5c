import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { databaseTrouble } from '../../../platform/database/health/database-trouble.ts';
import { Database, idsOf } from '../../../platform/database/sql.ts';
import { WorkLimitError } from '../../../platform/threads/work-errors.ts';
import { MOST_BYTES_AT_ONCE, textsOfSent } from '../sent-by-us.ts';

/** A message that has just been sent, as its row of the outbox does not have it. */
export interface SentRow {
  /** Id of the row of the outbox. */
  id: string;
  /** The provider's thread of the copy; `null` if the provider did not name it. */
  threadId: string | null;
  /** When it was sent: not later than any recipient got it. */
  at: Date;
}

/** A message that has just been sent. */
export interface JustSent extends SentRow {
  /** The sender's copy: with a Bcc header, if there are such recipients. */
  mime: Buffer;
}

/** Stores sent messages in the mirror. The sync group implements it. */
export interface SentMessageStore {
  /**
   * Adds messages to the mirror, before the provider reports their copies. Leaves out a message
   * that the mirror has already or that cannot be parsed, and all if the mirror has no Sent folder
   * yet.
   * @throws {WorkLimitError} if too much other work is waiting
   * @throws the driver's error if the mirror cannot be changed now
   */
  add(accountId: string, sent: readonly JustSent[]): Promise<void>;
}

/** How long a request waits at most until its message is readable. */
const LONGEST_WAIT_MS = 2_000;
/** Messages of requests that may be added at a time. Others are left to sync passes. */
const MOST_ADDED = 100;
/** Messages that may wait in `addSoon`. A process that sends more leaves them to sync passes. */
const MOST_WAITING = 200;
/** Messages whose texts are loaded at once. */
const MOST_TOGETHER = 50;

/**
 * Makes sent messages readable before the provider reports its copies (ADR 0119). Whatever goes
 * wrong here is logged only, because the messages have left: a sync pass adds them later. The sync
 * group registers itself when it starts.
 */
@Injectable()
export class SentMirror implements OnModuleDestroy {
  readonly #log = new Logger(SentMirror.name);
  readonly #waiting: SentRow[] = [];
  #running: Promise<void> | undefined;
  /** Messages of requests that are being added, also those whose requests no longer wait. */
  readonly #adding = new Set<Promise<void>>();
  #store: SentMessageStore | undefined;
  #stopping = false;

  constructor(private readonly database: Database) {}

  use(store: SentMessageStore): void {
    this.#store = store;
  }

  /**
   * Adds a message and waits until it can be read, or cannot be added now; two seconds at most.
   * After that time, the message is added without the caller. A copy of more than 1 MB is left to a
   * sync pass. Never throws.
   * @param copy makes the sender's copy, as `JustSent.mime`
   */
  async add(accountId: string, row: SentRow, copy: () => Buffer): Promise<void> {
    if (this.#stopping || this.#adding.size >= MOST_ADDED) return;
    const adding = this.#tryTo([row.id], async () => {
      const mime = copy();
      if (mime.length <= MOST_BYTES_AT_ONCE) await this.#store?.add(accountId, [{ ...row, mime }]);
    });
    this.#adding.add(adding);
    const added = adding.finally(() => this.#adding.delete(adding));
    const waited = new AbortController();
    const late = sleep(LONGEST_WAIT_MS, undefined, { signal: waited.signal, ref: false });
    await Promise.race([added, late.catch(() => undefined)]);
    waited.abort();
  }

  /**
   * Adds messages soon, without waiting for them. Costs one statement for many messages if their
   * mailboxes are not mirrored.
   */
  addSoon(rows: readonly SentRow[]): void {
    if (!this.#store || this.#stopping || this.#waiting.length + rows.length > MOST_WAITING) return;
    this.#waiting.push(...rows);
    this.#advance();
  }

  /** Ends when nothing is being added. Messages that still wait are left to sync passes. */
  async onModuleDestroy(): Promise<void> {
    this.#stopping = true;
    await Promise.all([this.#running, ...this.#adding]);
  }

  #advance(): void {
    if (this.#running || this.#waiting.length === 0 || this.#stopping) return;
    this.#running = this.#addWaiting().finally(() => {
      this.#running = undefined;
      this.#advance();
    });
  }

  async #addWaiting(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#stopping) {
      const rows = this.#waiting.splice(0, MOST_TOGETHER);
      const ids = idsOf(rows);
      await this.#tryTo(ids, async () => {
        const texts = await textsOfSent(this.database, ids);
        const sent = texts.flatMap((text) => {
          const row = rows.find(({ id }) => id === text.id);
          return row ? [{ ...row, ...text }] : [];
        });
        for (const [accountId, some] of Map.groupBy(sent, (one) => one.accountId)) {
          if (this.#stopping) return;
          await this.#tryTo(idsOf(some), () => this.#store?.add(accountId, some));
        }
      });
    }
  }

  async #tryTo(ids: readonly string[], add: () => Promise<void> | undefined): Promise<void> {
    try {
      await add();
    } catch (error) {
      const isBusy = error instanceof WorkLimitError || databaseTrouble(error) !== null;
      if (!isBusy) this.#log.error(error);
      this.#log.warn(
        `sent messages ${ids.join(', ')} are not readable yet; sync passes add them: ${String(error)}`,
      );
    }
  }
}
