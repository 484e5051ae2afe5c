import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { ACCOUNT_OF_ATTEMPTS } from '../../job-statuses/job-attempts.ts';
import { ACCOUNT_OF_DRAFT_FILES } from '../../mail/drafts/draft-files.ts';
import { ACCOUNT_OF_CHUNKS } from '../../mail/files/stored-bytes.ts';
import { ACCOUNT_OF_MEMBERSHIPS } from '../../mail/messages/mirror/folder-contents.ts';
import { ACCOUNT_OF_SUMMARIES } from '../../mail/threading/refresh-threads.ts';
import { monotonicMs } from '../../platform/base/time/clock.ts';
import {
  fillAccount,
  type FilledTable,
  unfinishedTables,
} from '../../platform/account-fills/fill-account.ts';
import { Database } from '../../platform/database/sql.ts';

/** Tables whose rows of earlier releases have no `account_id`. */
export const FILLED_TABLES: readonly FilledTable[] = [
  ACCOUNT_OF_MEMBERSHIPS,
  ACCOUNT_OF_SUMMARIES,
  ACCOUNT_OF_DRAFT_FILES,
  ACCOUNT_OF_CHUNKS,
  ACCOUNT_OF_ATTEMPTS,
];

/** Rows per transaction. */
const BATCH = 1000;
const MOST_MS = 50_000;

/**
 * Gives the rows of earlier releases their `account_id` (ADR 0170), in small transactions that
 * continue where the last one ended. Several processes share the tables.
 */
@Injectable()
export class AccountFills {
  readonly #log = new Logger(AccountFills.name);

  constructor(private readonly database: Database) {}

  /** Runs for less than a minute, so that another process can continue. */
  async runBriefly(stop: AbortSignal): Promise<void> {
    const read = await this.run(AbortSignal.any([stop, AbortSignal.timeout(MOST_MS)]));
    if (read > 0) this.#log.log(`read ${read} rows to store their account_id`);
  }

  /**
   * Reads each table to its end, unless `until` is aborted. Rests after each transaction for as
   * long as the transaction took.
   * @param batch most rows per transaction
   * @returns number of rows that were read
   */
  async run(until?: AbortSignal, batch = BATCH): Promise<number> {
    let read = 0;
    const unfinished = await unfinishedTables(this.database);
    for (const table of FILLED_TABLES.filter((one) => unfinished.has(one.table)))
      read += await this.#fill(table, batch, until);
    return read;
  }

  async #fill(table: FilledTable, batch: number, until?: AbortSignal): Promise<number> {
    for (let all = 0; ;) {
      if (until?.aborted) return all;
      const began = monotonicMs();
      const { read, more } = await this.database.transaction((sql) =>
        fillAccount(sql, table, batch),
      );
      all += read;
      if (!more) return all;
      await delay(monotonicMs() - began, undefined, { ref: false });
    }
  }
}
