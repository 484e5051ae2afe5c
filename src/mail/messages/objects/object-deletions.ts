import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../../platform/base/time/clock.ts';
import { Database, type Sql } from '../../../platform/database/sql.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';
import { ObjectStoreUnavailableError } from '../../../platform/objects/object-errors.ts';
import {
  deletePrefix,
  OBJECT_STORE,
  type ObjectStore,
} from '../../../platform/objects/object-store.ts';
import { prefixOf } from './body-key.ts';
import type { ObjectDeletion } from './object-deletion.entity.ts';

/** A deletion that does not end is begun again by another worker after this time. */
const LEASE_MS = 10 * 60_000;
const RETRY_MS = 60_000;

const ADD = `
  insert into object_deletion (account_id, due_at) values ($1, $2) on conflict (account_id) do nothing`;
const LEASE = `
  update object_deletion set due_at = $2 where account_id = (
    select account_id from object_deletion where due_at <= $1 order by due_at limit 1 for update skip locked)
  returning account_id as "accountId"`;
const RETRY = `update object_deletion set due_at = $2 where account_id = $1`;
const DONE = `delete from object_deletion where account_id = $1`;

/** Notes, in the transaction that deletes an account, that its objects are to be removed. */
export async function deleteObjectsOf(sql: Sql, accountId: string, at: Date): Promise<void> {
  await sql.query(ADD, [accountId, at]);
}

/** Removes the objects of deleted accounts: one prefix each. */
@Injectable()
export class ObjectDeletions {
  readonly #log = new Logger('ObjectStore');

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore | null,
  ) {}

  /** Removes the objects of accounts that are due, until none is left or the process stops. */
  async run(stop: AbortSignal): Promise<void> {
    if (!this.store) return;
    while (!stop.aborted) {
      const now = this.clock.now().getTime();
      const [due] = await this.database.query<RowOf<ObjectDeletion, 'accountId'>>(LEASE, [
        new Date(now),
        new Date(now + LEASE_MS),
      ]);
      if (!due) return;
      await this.#delete(this.store, due.accountId, stop);
    }
  }

  async #delete(store: ObjectStore, accountId: string, stop: AbortSignal): Promise<void> {
    try {
      const removed = await deletePrefix(store, prefixOf(accountId), stop);
      if (stop.aborted) return;
      await this.database.query(DONE, [accountId]);
      this.#log.log(`removed ${removed} objects of a deleted account`);
    } catch (error) {
      if (!(error instanceof ObjectStoreUnavailableError)) throw error;
      const at = new Date(this.clock.now().getTime() + RETRY_MS);
      await this.database.query(RETRY, [accountId, at]);
      this.#log.warn(
        `the objects of a deleted account could not be removed, and will be: ${error.reason}`,
      );
    }
  }
}
