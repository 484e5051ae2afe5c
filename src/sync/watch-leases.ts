import { Injectable } from '@nestjs/common';
import { NOT_SUSPENDED } from '../accounts/grants/provider-accounts.ts';
import { columnsOf, Database } from '../platform/database/sql.ts';

export interface WatchLease {
  accountId: string;
  failures: number;
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
const CLAIM = `
  with share as (
    select count(*)::int as total,
      ceil(count(*)::numeric / greatest(1, (select count(*) from worker where ${ALIVE})))::int as fair
    from mailbox_watch),
  free as (
    select w.account_id from mailbox_watch w join "grant" g on g.id = w.account_id
    where w.retry_at <= now() and ${USABLE}
      and (w.worker_id is null or not exists (select 1 from worker o where o.id = w.worker_id and ${ALIVE}))
    order by w.retry_at limit least($2, greatest(0, (select fair from share) - $3))
    for update of w skip locked),
  claimed as (
    update mailbox_watch w set worker_id = $1, up_since = null from free where w.account_id = free.account_id
    returning w.account_id, w.failures)
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
   * Leases watches that no live worker has leased.
   * @param most largest number to lease
   * @param held number of watches this worker has leased already
   * @returns the new leases, the total number of watches, and this worker's fair share of them
   */
  async claim(
    workerId: number,
    most: number,
    held: number,
  ): Promise<{ total: number; fair: number; leases: WatchLease[] }> {
    const rows = await this.database.query<
      { total: number; fair: number } & { [K in keyof WatchLease]: WatchLease[K] | null }
    >(CLAIM, [workerId, most, held]);
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
