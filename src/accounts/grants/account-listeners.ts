import { Injectable } from '@nestjs/common';
import type { Sql } from '../../platform/database/sql.ts';
import type { JobMove } from '../../platform/job-statuses/jobs.ts';

/** An account, in the transaction that changes it. The caller holds the lock of its application. */
export interface ChangedAccount {
  applicationId: string;
  accountId: string;
  at: Date;
}

/** A new account: its grant is stored, nothing else yet. */
export interface NewAccount extends ChangedAccount {
  provider: string;
  email: string;
  name: string;
}

/** Queues with work of accounts, in the order in which everything locks their rows: after `sync_job`, before the grant. */
const LOCK_ORDER = ['send', 'provider', 'reminder'] as const;

/** What a module keeps of accounts, and what it does in the transaction that changes one. */
export interface AccountListener {
  /** The queue that `endWork` clears. */
  queue?: (typeof LOCK_ORDER)[number];
  /**
   * Ends the account's open work in the queue, locking rows in the order of their ids. It is called twice in a transaction:
   * before the grant is locked, and again for work that was added in between.
   * @param cause `moved`: the account gets another mailbox; `removed`: it is disconnected
   * @returns what becomes of the jobs
   */
  endWork?(sql: Sql, accountId: string, cause: 'moved' | 'removed'): Promise<JobMove[]>;
  /** The account is connected for the first time. */
  connected?(sql: Sql, account: NewAccount): Promise<void>;
  /** Its user, or its application, has authenticated it again. */
  reconnected?(sql: Sql, account: ChangedAccount): Promise<void>;
  /**
   * Statements that select `id` and `object` (`ChangeObject`) of what clients see of the mailbox of account `$1`. When the
   * account is moved, the change log says that these are gone before any module deletes anything.
   */
  shown?: readonly string[];
  /** Statements that delete what the module mirrors of account `$1`, once it is moved. */
  mirrored?: readonly string[];
}

/** Modules that keep something of accounts add themselves when their module starts. */
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

  /** Ends the account's open work in every queue but that of the sync, queue by queue in the lock order. */
  async endWork(sql: Sql, accountId: string, cause: 'moved' | 'removed'): Promise<JobMove[]> {
    const moves: JobMove[] = [];
    for (const queue of LOCK_ORDER) {
      for (const listener of this.#listeners)
        if (listener.queue === queue)
          moves.push(...((await listener.endWork?.(sql, accountId, cause)) ?? []));
    }
    return moves;
  }
}
