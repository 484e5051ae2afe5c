import { Injectable } from '@nestjs/common';
import type { Sql } from '../../platform/database/sql.ts';

/**
 * What a module does in the transaction that records that a mailing service takes mail from an
 * account.
 */
export interface RelayListener {
  /**
   * Locks the queue rows of the account that `opened` will change. All code locks queue rows before
   * the grant, which is locked next.
   */
  lockWork(sql: Sql, accountId: string): Promise<void>;
  /** Called when the service takes mail from the account, and did not do so before. */
  opened(sql: Sql, accountId: string): Promise<void>;
}

/** Modules whose work waits for a mailing service register a listener when they start. */
@Injectable()
export class RelayListeners {
  readonly #listeners: RelayListener[] = [];

  add(listener: RelayListener): void {
    this.#listeners.push(listener);
  }

  async lockWork(sql: Sql, accountId: string): Promise<void> {
    for (const listener of this.#listeners) await listener.lockWork(sql, accountId);
  }

  async opened(sql: Sql, accountId: string): Promise<void> {
    for (const listener of this.#listeners) await listener.opened(sql, accountId);
  }
}
