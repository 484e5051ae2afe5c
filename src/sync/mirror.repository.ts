import { Injectable } from '@nestjs/common';
import type { AccountListener } from '../accounts/grants/account-listeners.ts';
import { hasVanished } from '../mail/messages/vanished-messages.ts';
import { Database, type Sql } from '../platform/database/sql.ts';
import type { SyncState } from '../platform/auth/grant-status.ts';

/** A claim on the mirror of one account: every write proves that it still holds. */
export interface MirrorClaim {
  /** Id of the row of `sync_job`. */
  id: string;
  fence: number;
  accountId: string;
}

/** Where a run begins. */
export interface MirrorState {
  cursor: string | null;
  failures: number;
  wellSince: Date | null;
  /** Whether the mirror has shown the whole mailbox before. */
  wasCurrent: boolean;
  /** What arrived earlier is history. */
  connectedAt: Date;
  syncState: SyncState;
  /** Workers that have died with this mailbox in hand. */
  crashes: number;
  /** The message that was being read when one did; null: none, or nobody knows. */
  reading: string | null;
  /** Whether messages have vanished that may still turn up elsewhere. */
  hasVanished: boolean;
  /** Whether it is to be watched, and whether somebody does right now. */
  watchable: boolean;
  watched: boolean;
}

/** The claim was lost: somebody else mirrors this account now. */
export class ClaimLostError extends Error {
  override name = 'ClaimLostError';
}

const BEGIN = `
  update sync_job j set again = false from "grant" g
  where j.id = $1 and j.fence = $2 and j.state = 1 and g.id = j.account_id
  returning j.cursor, j.failures, j.well_since as "wellSince", j.current_since is not null as "wasCurrent",
    g.created_at as "connectedAt", g.sync_state as "syncState", j.crashes, j.reading,
    ${hasVanished('g.id')} as "hasVanished",
    exists (select 1 from mailbox_watch w where w.account_id = g.id) as watchable,
    exists (select 1 from mailbox_watch w where w.account_id = g.id and w.up_since is not null) as watched`;

const HOLD = `
  update sync_job set cursor = coalesce($3, cursor), reading = case when $3::text is null then reading end
  where id = $1 and fence = $2 and state = 1 returning 1`;

const READING = `update sync_job set reading = $3 where id = $1 and fence = $2 and state = 1`;

/** Messages that could not be read, and the connection that waits for changes. */
export const SYNC_OF_ACCOUNT: AccountListener = {
  mirrored: [
    'delete from sync_failure where account_id = $1',
    'delete from mailbox_watch where account_id = $1',
  ],
};

/** The claim on a mailbox. */
@Injectable()
export class MirrorRepository {
  constructor(private readonly database: Database) {}

  /** Starts a run; what is reported from here on asks for another one. @returns undefined when the claim is lost */
  async begin({ id, fence }: MirrorClaim): Promise<MirrorState | undefined> {
    return (await this.database.query<MirrorState>(BEGIN, [id, fence]))[0];
  }

  /** Puts the cursor back, in a transaction that holds the claim. */
  async turnBack(sql: Sql, { id }: MirrorClaim, cursor: string | null): Promise<void> {
    await sql.query('update sync_job set cursor = $2 where id = $1', [id, cursor]);
  }

  /**
   * A transaction that holds the claim to its end.
   * @param cursor stored with what `work` writes; null leaves it
   * @throws {ClaimLostError} when the claim is lost; nothing is written
   */
  holding<T>(
    { id, fence }: MirrorClaim,
    cursor: string | null,
    work: (sql: Sql) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(async (sql) => {
      const held = await sql.query(HOLD, [id, fence, cursor]);
      if (held.length === 0) throw new ClaimLostError('the claim on the mailbox is lost');
      return work(sql);
    });
  }

  /** Notes which message is about to be read, for whoever comes after this worker. */
  async noteReading({ id, fence }: MirrorClaim, providerId: string): Promise<void> {
    await this.database.query(READING, [id, fence, providerId]);
  }
}
