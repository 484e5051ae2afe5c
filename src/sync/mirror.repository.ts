import { Injectable } from '@nestjs/common';
import type { AccountListener } from '../accounts/grants/account-listeners.ts';
import { ACCOUNT_COLUMNS, type AccountRow } from '../accounts/grants/provider-accounts.ts';
import { AUDIT_TIMES, type AuditTimes } from '../accounts/sync-schedule/mirror-audits.ts';
import { hasCalendars } from '../calendar/calendars/calendar-mirror.ts';
import { hasListed } from '../mail/messages/listed-messages.ts';
import { hasUncopied } from '../mail/messages/mirror/unreported-messages.ts';
import { hasVanished } from '../mail/messages/mirror/vanished-messages.ts';
import { Database, type Sql } from '../platform/database/sql.ts';
import type { RowLoading } from '../platform/work/queue/dispatcher.ts';
import { ROW_CLAIMED } from '../platform/work/queue/row-state.ts';
import type { SyncJob } from '../accounts/sync-schedule/sync-job.entity.ts';
import type { Grant } from '../accounts/grants/grant.entity.ts';
import type { RowOf } from '../platform/database/rows/row-of.ts';

/**
 * A claim on the mirror of one account. Every transaction that writes checks that the claim is
 * still valid.
 */
export interface MirrorClaim {
  /** Id of the row of `sync_job`. */
  id: string;
  fence: number;
  accountId: string;
}

/** State at the start of a run. */
export interface MirrorState
  extends
    AuditTimes,
    RowOf<
      SyncJob,
      | 'cursor'
      | 'failures'
      | 'wellSince'
      | 'activeAt'
      | 'reading'
      | 'calendarsAt'
      | 'contactsAt'
      | 'contactsCursor'
      | 'contactsSince'
    >,
    RowOf<Grant, 'syncState'> {
  /** True if the mirror has shown the whole mailbox before. */
  wasCurrent: boolean;
  /**
   * The second in which the account was connected. Messages received earlier are history. Servers
   * report times in whole seconds, so a message of the same second counts as new.
   */
  connectedAt: Date;
  /** True if the account is shown as `running`, without a reason. */
  isShownRunning: boolean;
  /** Number of workers that crashed while they had claimed this mailbox. */
  crashes: number;
  /** True if messages have vanished that may still reappear elsewhere. */
  hasVanished: boolean;
  /** True if sent messages of the mirror have had no copy at the provider for a day. */
  hasUncopied: boolean;
  /** `watchable`: the mailbox should be watched. `watched`: a watch is established now. */
  watchable: boolean;
  watched: boolean;
  /** True if listed messages may wait for their contents (ADR 0077). */
  hasListed: boolean;
  /** When the next message on which the provider failed is requested again; `null` for none. */
  failuresAt: Date | null;
  /** True if the mirror has calendars of the provider. */
  hasCalendars: boolean;
}

/** A claimed row as the engine loads it: the state of its mirror, and its account. */
export interface LoadedMailbox extends MirrorState, AccountRow {
  fence: number;
  /** True if another pass was requested since the last one began. */
  again: boolean;
}

/** The claim was lost: another worker has claimed this account. */
export class ClaimLostError extends Error {
  override name = 'ClaimLostError';
}

const lost = () => new ClaimLostError('the claim on the mailbox was lost to another worker');

const STATE = `
  j.cursor, j.failures, j.well_since as "wellSince", j.current_since is not null as "wasCurrent",
  date_trunc('second', g.created_at) as "connectedAt", j.active_at as "activeAt", g.sync_state as "syncState",
  g.sync_state = 'running' and g.sync_reason is null as "isShownRunning", j.crashes, j.reading,
  ${hasVanished('g.id')} as "hasVanished", ${hasUncopied('g.id')} as "hasUncopied",
  exists (select 1 from mailbox_watch w where w.account_id = g.id) as watchable,
  exists (select 1 from mailbox_watch w where w.account_id = g.id and w.up_since is not null) as watched,
  ${hasListed('g.id')} as "hasListed",
  (select min(f.retry_at) from sync_failure f where f.account_id = g.id) as "failuresAt",
  ${hasCalendars('g.id')} as "hasCalendars", j.calendars_at as "calendarsAt", j.contacts_at as "contactsAt", j.contacts_cursor as "contactsCursor",
  j.contacts_since as "contactsSince",
  ${AUDIT_TIMES.columns}`;

/**
 * Loads all that a pass without changes needs, for all rows of a claim in one statement. Such a
 * pass reads and writes nothing else of its own (ADR 0099).
 */
export const MAILBOX_LOADING: RowLoading = {
  columns: `j.fence, j.again, ${ACCOUNT_COLUMNS}, ${STATE}`,
  joins: `join "grant" g on g.id = j.account_id ${AUDIT_TIMES.join('j.account_id')}`,
  ready: 'false',
};

const BEGIN = `
  update sync_job j set again = false, active_at = $3
  from "grant" g ${AUDIT_TIMES.join('g.id')}
  where j.id = $1 and j.fence = $2 and j.state = ${ROW_CLAIMED} and g.id = j.account_id
  returning ${STATE}`;

const CHECK_CLAIM = `
  update sync_job set cursor = coalesce($3, cursor), reading = case when $3::text is null then reading end
  where id = $1 and fence = $2 and state = ${ROW_CLAIMED} returning 1`;

const ASKED_AGAIN = `select again from sync_job where id = $1 and fence = $2 and state = ${ROW_CLAIMED}`;

const LOCK_MAILBOX = `select 1 from sync_job where account_id = $1 for no key update`;

const LIMIT_WAIT = `select set_config('lock_timeout', $1, true)`;

const READING = `update sync_job set reading = $3 where id = $1 and fence = $2 and state = ${ROW_CLAIMED}`;

/** Statements that delete an account's read failures and its watch together with its mirror. */
export const SYNC_OF_ACCOUNT: AccountListener = {
  mirrorDeletions: [
    'delete from sync_failure where account_id = $1',
    'delete from mailbox_watch where account_id = $1',
  ],
};

/** Reads and writes the claimed queue row of a mailbox. */
@Injectable()
export class MirrorRepository {
  constructor(private readonly database: Database) {}

  /**
   * Starts a run that was requested. A change reported from now on requests another run.
   * @returns `undefined` if the claim is lost
   */
  async begin({ id, fence }: MirrorClaim, now: Date): Promise<MirrorState | undefined> {
    return (await this.database.query<MirrorState>(BEGIN, [id, fence, now]))[0];
  }

  /** The stored cursor of a claimed mailbox. */
  async cursor({ id }: MirrorClaim): Promise<string | null> {
    const [row] = await this.database.query<RowOf<SyncJob, 'cursor'>>(
      'select cursor from sync_job where id = $1',
      [id],
    );
    return row?.cursor ?? null;
  }

  /**
   * Stores a cursor behind which nothing has changed.
   * @throws {ClaimLostError} if the claim is lost; nothing is written
   */
  async moveCursor({ id, fence }: MirrorClaim, cursor: string): Promise<void> {
    const rows = await this.database.query(CHECK_CLAIM, [id, fence, cursor]);
    if (rows.length === 0) throw lost();
  }

  /**
   * Sets the cursor back to the start of a batch, so that the next sync pass reads the batch again.
   * This happens if the batch is outdated (`StoredBatch.outdated`). Call it in a transaction of
   * `withClaim`.
   */
  async resetCursor(sql: Sql, { id }: MirrorClaim, cursor: string | null): Promise<void> {
    await sql.query('update sync_job set cursor = $2 where id = $1', [id, cursor]);
  }

  /**
   * Runs `work` in a transaction that keeps the claim until it ends.
   * @param cursor stored in the same transaction; `null` leaves the stored cursor unchanged
   * @throws {ClaimLostError} if the claim is lost; nothing is written
   */
  withClaim<T>(
    { id, fence }: MirrorClaim,
    cursor: string | null,
    work: (sql: Sql) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(async (sql) => {
      const rows = await sql.query(CHECK_CLAIM, [id, fence, cursor]);
      if (rows.length === 0) throw lost();
      return work(sql);
    });
  }

  /**
   * Runs `work` in a transaction of its own while no sync pass stores anything of the account. For
   * requests, which have no claim. Does nothing if the mailbox is not synced, as of a cancelled
   * account.
   * @param waitMs longest wait for each lock; default: as long as a statement may run
   * @throws the driver's error if a lock was not free in time
   */
  withMailbox(
    accountId: string,
    work: (sql: Sql) => Promise<void>,
    waitMs?: number,
  ): Promise<void> {
    return this.database.transaction(async (sql) => {
      if (waitMs !== undefined) await sql.query(LIMIT_WAIT, [`${waitMs}ms`]);
      const locked = await sql.query(LOCK_MAILBOX, [accountId]);
      if (locked.length > 0) await work(sql);
    });
  }

  /**
   * True if another run was requested since this one began.
   * @throws {ClaimLostError}
   */
  async isAskedAgain({ id, fence }: MirrorClaim): Promise<boolean> {
    const [row] = await this.database.query<RowOf<SyncJob, 'again'>>(ASKED_AGAIN, [id, fence]);
    if (!row) throw lost();
    return row.again;
  }

  /** Forgets the message of `noteReading`: it is stored. Call it in `withClaim`. */
  async clearReading(sql: Sql, { id }: MirrorClaim): Promise<void> {
    await sql.query('update sync_job set reading = null where id = $1 and reading is not null', [
      id,
    ]);
  }

  /**
   * Records which message is about to be parsed. If this worker crashes, the next worker does not
   * parse the message.
   */
  async noteReading({ id, fence }: MirrorClaim, providerId: string): Promise<void> {
    await this.database.query(READING, [id, fence, providerId]);
  }
}
