import { Injectable } from '@nestjs/common';
import { NOT_SUSPENDED } from '../../accounts/grants/provider-accounts.ts';
import { columnsOf, Database } from '../../platform/database/sql.ts';
import type { MailboxWatch } from './mailbox-watch.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

export interface WatchLease extends RowOf<MailboxWatch, 'accountId' | 'failures'> {
  /** Changes with each new authentication of the account. */
  credentials: string;
}

/** A watch that has ended, and when it may be started again. */
export interface EndedWatch {
  accountId: string;
  waitSeconds: number;
  /**
   * True if the watch was established for at least `STABLE_SECONDS`, so that its earlier ends are
   * forgotten.
   */
  wasStable: boolean;
}

const ALIVE = `seen_at > now() - interval '8 s'`;
const USABLE = `g.status = 'valid' and g.billing_state <> 'cancelled' and ${NOT_SUSPENDED}`;

// A worker leases at most its share. So workers that start later get watches too, and the death of
// one worker affects few accounts.
//
// The statement reads no more rows than it leases, however many watches there are: free ones in the
// order of an index, then those of workers that are not alive. `holders` finds the workers with
// leases in the index of workers, one step for each. A join of all watches with the living workers
// took 36 ms with 100,000 watches (ADR 0099).
//
// Watches of accounts that may not be watched are deleted, or each claim would read them again. The
// next sync pass that reads such a mailbox adds its watch again.
/** Exported for the test of its plan. Parameters as in `WatchLeases.claim`. */
export const CLAIM_WATCHES = `
  with recursive holders as (
    (select worker_id as id from mailbox_watch where worker_id is not null order by worker_id limit 1)
    union all
    select (select w.worker_id from mailbox_watch w where w.worker_id > h.id order by w.worker_id limit 1)
    from holders h where h.id is not null),
  alive as materialized (select id from worker where ${ALIVE}),
  share as materialized (
    select total, ceil(total::numeric / greatest(1, (select count(*) from alive)))::int as fair
    from (select coalesce($4::int, (select count(*)::int from mailbox_watch)) as total) t),
  wanted as materialized (select least($2, greatest(0, fair - $3)) as most from share),
  free as materialized (
    select account_id from mailbox_watch where worker_id is null and retry_at <= now()
    order by retry_at limit (select most from wanted) for update skip locked),
  orphaned as materialized (
    select account_id from mailbox_watch
    where worker_id = any(array(select id from holders where id not in (select id from alive)))
    limit (select most from wanted) - (select count(*) from free) for update skip locked),
  found as materialized (
    select w.account_id, ${USABLE} as usable
    from (select account_id from free union all select account_id from orphaned) w
    join "grant" g on g.id = w.account_id),
  dropped as (
    delete from mailbox_watch where account_id = any(array(select account_id from found where not usable))),
  claimed as (
    update mailbox_watch set worker_id = $1, up_since = null
    where account_id = any(array(select account_id from found where usable))
    returning account_id, failures)
  select s.total, s.fair, c.account_id as "accountId", c.failures, md5(g.settings_sealed) as credentials
  from share s left join claimed c on true left join "grant" g on g.id = c.account_id`;

const OURS = `
  select w.account_id as "accountId", w.failures, md5(g.settings_sealed) as credentials
  from mailbox_watch w join "grant" g on g.id = w.account_id where w.worker_id = $1 and ${USABLE}`;

const UP = `
  update mailbox_watch set up_since = now() where worker_id = $1 and account_id = any($2::uuid[])`;

const ENDED = `
  update mailbox_watch w
  set worker_id = null, up_since = null, retry_at = now() + x.wait * interval '1 s',
      failures = case when x.stable then 1 else least(w.failures + 1, 1000) end
  from unnest($2::uuid[], $3::float8[], $4::boolean[]) x(id, wait, stable)
  where w.account_id = x.id and w.worker_id = $1`;

const ADD = `insert into mailbox_watch (account_id) values ($1) on conflict do nothing returning 1`;

const RELEASE = `
  update mailbox_watch set worker_id = null, up_since = null, retry_at = now()
  where worker_id = $1 and account_id = any($2::uuid[])`;

/** Leases of mailbox watches. A lease lasts as long as the worker's heartbeat. */
@Injectable()
export class WatchLeases {
  constructor(private readonly database: Database) {}

  /**
   * Leases watches that no live worker has leased. Deletes those of accounts that may not be
   * watched.
   * @param most largest number to lease
   * @param held number of watches this worker has leased already
   * @param known total number of watches if it was counted recently; `null` counts them
   * @returns the new leases, the total number of watches, and this worker's fair share of them
   */
  async claim(
    workerId: number,
    most: number,
    held: number,
    known: number | null,
  ): Promise<{ total: number; fair: number; leases: WatchLease[] }> {
    // Planned each time: a plan that was made while there were few watches would read all of them.
    const rows = await this.database.query<
      { total: number; fair: number } & { [K in keyof WatchLease]: WatchLease[K] | null }
    >(CLAIM_WATCHES, [workerId, most, held, known], { prepared: false });
    const [first] = rows;
    const leases = rows.filter(
      (row): row is WatchLease & { total: number; fair: number } => row.accountId !== null,
    );
    return { total: first?.total ?? 0, fair: first?.fair ?? 0, leases };
  }

  /**
   * Adds a watch for the mailbox; any worker may lease it. @returns `false` if it exists already
   */
  async add(accountId: string): Promise<boolean> {
    return (await this.database.query(ADD, [accountId])).length > 0;
  }

  /** Watches leased by this worker, for accounts that may be watched: valid and not cancelled. */
  ours(workerId: number): Promise<WatchLease[]> {
    return this.database.query<WatchLease>(OURS, [workerId]);
  }

  async noteUp(workerId: number, accountIds: readonly string[]): Promise<void> {
    if (accountIds.length > 0) await this.database.query(UP, [workerId, accountIds]);
  }

  /**
   * Releases watches that ended by themselves; each may be started again after its `waitSeconds`.
   */
  async noteEnded(workerId: number, ended: readonly EndedWatch[]): Promise<void> {
    if (ended.length === 0) return;
    await this.database.query(ENDED, [
      workerId,
      ...columnsOf(ended, 'accountId', 'waitSeconds', 'wasStable'),
    ]);
  }

  /** Releases watches so that other workers may start them at once. */
  async release(workerId: number, accountIds: readonly string[]): Promise<void> {
    if (accountIds.length > 0) await this.database.query(RELEASE, [workerId, accountIds]);
  }
}
