import { Injectable } from '@nestjs/common';
import type { Sql } from '../../platform/database/sql.ts';
import type { JobTransition } from '../../job-statuses/jobs.ts';

/**
 * An account, in the transaction that changes it. The caller holds the row lock on its application.
 */
export interface ChangedAccount {
  applicationId: string;
  accountId: string;
  at: Date;
}

/** A new account. Only its grant is stored so far. */
export interface NewAccount extends ChangedAccount {
  provider: string;
  email: string;
  name: string;
}

/**
 * Queues with work of accounts, in the order in which all code locks their rows: after `sync_job`,
 * before the grant.
 */
const LOCK_ORDER = ['send', 'provider', 'reminder'] as const;

/** What a module stores for accounts, and what it does in a transaction that changes an account. */
export interface AccountListener {
  /** The queue that `endWork` clears. */
  queue?: (typeof LOCK_ORDER)[number];
  /**
   * Ends the account's open work in the queue and locks the rows in the order of their ids.
   * `endWork` runs twice in a transaction: before the grant is locked, and again for work that was
   * added in between.
   * @param cause `moved` if the account gets another mailbox; `removed` if it is disconnected
   * @returns the status changes to record for the ended rows
   */
  endWork?(sql: Sql, accountId: string, cause: 'moved' | 'removed'): Promise<JobTransition[]>;
  /** Called when the account is connected for the first time. */
  connected?(sql: Sql, account: NewAccount): Promise<void>;
  /** Called when the user or the application has authenticated the account again. */
  reconnected?(sql: Sql, account: ChangedAccount): Promise<void>;
  /**
   * Called before an account is removed.
   * @returns what to do at the provider once the removal is committed, and before the account's
   *   tokens are revoked. It must not reject
   */
  leaving?(accountId: string): Promise<() => Promise<void>>;
  /** Called in the transaction that removes an account, when its grant is deleted. */
  removed?(sql: Sql, account: ChangedAccount): Promise<void>;
  /**
   * Statements that select `id` and `object` (`ChangeObject`) of the objects that clients see in
   * the mailbox of account `$1`. When the account moves to another mailbox, the change log records
   * them as deleted before any module deletes rows.
   */
  visibleObjects?: readonly string[];
  /** Statements that delete the module's mirror of account `$1` after a move. */
  mirrorDeletions?: readonly string[];
}

/** Modules that store something for accounts register a listener when they start. */
@Injectable()
export class AccountListeners {
  readonly #listeners: AccountListener[] = [];

  add(listener: AccountListener): void {
    this.#listeners.push(listener);
  }

  all(): readonly AccountListener[] {
    return this.#listeners;
  }

  async connected(sql: Sql, account: NewAccount): Promise<void> {
    for (const listener of this.#listeners) await listener.connected?.(sql, account);
  }

  async reconnected(sql: Sql, account: ChangedAccount): Promise<void> {
    for (const listener of this.#listeners) await listener.reconnected?.(sql, account);
  }

  async removed(sql: Sql, account: ChangedAccount): Promise<void> {
    for (const listener of this.#listeners) await listener.removed?.(sql, account);
  }

  /** Calls `leaving` of all listeners. @returns a function that does what they returned */
  async leaving(accountId: string): Promise<() => Promise<void>> {
    const farewells: (() => Promise<void>)[] = [];
    for (const listener of this.#listeners) {
      const farewell = await listener.leaving?.(accountId);
      if (farewell) farewells.push(farewell);
    }
    return async () => {
      for (const farewell of farewells) await farewell();
    };
  }

  /**
   * Ends the account's open work in every queue except the sync queue, queue by queue in the lock
   * order.
   */
  async endWork(sql: Sql, accountId: string, cause: 'moved' | 'removed'): Promise<JobTransition[]> {
    const moves: JobTransition[] = [];
    for (const queue of LOCK_ORDER) {
      for (const listener of this.#listeners)
        if (listener.queue === queue)
          moves.push(...((await listener.endWork?.(sql, accountId, cause)) ?? []));
    }
    return moves;
  }
}
