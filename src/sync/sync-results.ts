import { moveGrants } from '../accounts/grants/moves/grant-moves.ts';
import { markGrantsInvalid } from '../accounts/grants/mark-invalid.ts';
import { storable } from '../platform/base/text/storable.ts';
import type { Sql } from '../platform/database/sql.ts';
import type { ClaimedRow, Settled } from '../platform/work/queue/dispatcher.ts';
import { type PassTimes, storePassTimes } from './pass-schedule.ts';
import { FAILURES_UNTIL_SHOWN, STABLE_SECONDS } from './sync-policy.ts';
import type { SyncJob } from '../accounts/sync-schedule/sync-job.entity.ts';
import type { RowOf } from '../platform/database/rows/row-of.ts';

/** Result of a sync pass over an account. */
export type SyncResult = (
  | /** The mirror shows the whole mailbox. */
    {
      kind: 'current';
      /** Why the account is not shown as healthy; absent if it is. */
      problem?: string;
      /** True if the account was shown as healthy when the pass began. */
      isShown?: boolean;
    }
    /** Nothing was done, or more can be fetched, perhaps after a wait for the provider's budget. */
  | { kind: 'idle' }
  /** A part of the mailbox could not be read for a while; the rest was. */
  | { kind: 'stalled'; problem: string }
  | { kind: 'failed'; reason: string; server: string | null }
  /** The provider permanently refused the credentials. */
  | { kind: 'refused'; reason: string; settingsSealed: string }
) & {
  /** True if the pass has changed the mirror. */
  changed?: boolean;
  /** When the passes over calendars and contacts follow. */
  times?: PassTimes;
};

// `again` is set if a change was reported during the run; the account then runs again at once.
const ASKED_AGAIN = `update sync_job set run_at = now() where id = any($1::uuid[]) and again`;
const CURRENT = `
  update sync_job j
  set current_since = coalesce(current_since, $2::timestamptz),
      run_at = case when again then now() else run_at end,
      failures = case when well_since <= $2::timestamptz - interval '${STABLE_SECONDS} s' then 0 else failures end,
      well_since = coalesce(well_since, $2)
  where id = any($1::uuid[])
    and (again or current_since is null or well_since is null
         or (failures > 0 and well_since <= $2::timestamptz - interval '${STABLE_SECONDS} s'))`;
const ACTIVE = `update sync_job set active_at = $2 where id = any($1::uuid[])`;
const COUNT_FAILURES = `
  update sync_job j set failures = least(failures + 1, 1000), well_since = null,
    failed_reason = f.reason, failed_server = f.server
  from unnest($1::uuid[], $2::text[], $3::text[]) f(id, reason, server) where j.id = f.id
  returning account_id as "accountId", failures`;

/** Results after which the account waits, for its budget or for a part that cannot be read. */
const MAY_WAIT: readonly SyncResult['kind'][] = ['idle', 'stalled'];

const idsOf = (some: readonly { row: ClaimedRow }[]): string[] => some.map(({ row }) => row.id);

/**
 * Stores how sync passes have ended: their rows' counts of failures, and what the accounts show.
 * Runs in the transaction that settles the rows.
 */
export async function recordResults(
  sql: Sql,
  settled: readonly Settled<ClaimedRow, SyncResult>[],
  now: Date,
): Promise<void> {
  const current = settled.flatMap(({ row, result }) =>
    result.kind === 'current'
      ? [{ row, problem: result.problem ?? null, isShown: result.isShown === true }]
      : [],
  );
  const stalled = settled.flatMap(({ row, result }) =>
    result.kind === 'stalled' ? [{ row, problem: result.problem }] : [],
  );
  if (current.length > 0) await sql.query(CURRENT, [idsOf(current), now]);
  const waiting = settled.filter(({ result }) => MAY_WAIT.includes(result.kind));
  if (waiting.length > 0) await sql.query(ASKED_AGAIN, [idsOf(waiting)]);
  const active = settled.filter(({ result }) => result.changed === true);
  if (active.length > 0) await sql.query(ACTIVE, [idsOf(active), now]);
  const passed = settled.map(({ row, result }) => ({ id: row.id, times: result.times ?? {} }));
  await storePassTimes(sql, passed);
  const failed = settled.filter(({ result }) => result.kind === 'failed');
  const counted =
    failed.length === 0
      ? []
      : await sql.query<RowOf<SyncJob, 'accountId' | 'failures'>>(COUNT_FAILURES, [
          idsOf(failed),
          failed.map(({ result }) => ('reason' in result ? storable(result.reason) : null)),
          failed.map(({ result }) => ('server' in result ? result.server : null)),
        ]);
  // Only sync passes make an account `running` or `sync-error`, and this one has had the claim.
  const unshown = current.filter(({ problem, isShown }) => problem !== null || !isShown);
  const reasons = new Map<string, string>();
  for (const { row, result } of settled) {
    if (result.kind === 'failed') reasons.set(row.gateId, result.reason);
  }
  const failing = counted.filter(({ failures }) => failures >= FAILURES_UNTIL_SHOWN);
  await moveGrants(
    sql,
    [
      ...[...unshown, ...stalled].map(({ row, problem }) => ({
        accountId: row.gateId,
        syncState: problem === null ? ('running' as const) : ('sync-error' as const),
        reason: problem,
      })),
      ...failing.map(({ accountId }) => ({
        accountId,
        syncState: 'sync-error' as const,
        reason: reasons.get(accountId) ?? null,
      })),
    ],
    now,
  );
  const refused = settled.flatMap(({ row, result }) =>
    result.kind === 'refused' ? [{ accountId: row.gateId, ...result }] : [],
  );
  await markGrantsInvalid(sql, refused, now);
}
