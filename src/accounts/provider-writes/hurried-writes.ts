import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { BEING_CHANGED, ON_ITS_WAY, sortOut, type Steered } from '../../job-statuses/steered.ts';
import { wakeAfterCommit } from '../../platform/work/signals.ts';
import { ROW_WAITING } from '../../platform/work/queue/row-state.ts';
import type { JobStatus } from '../../job-statuses/job-status.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

// Never waits for a row that is being settled: its transaction may wait for a row that the caller
// has locked.
const HURRY_OBJECTS = `
  with waiting as (
    select id from provider_job where object_id = any($1::uuid[]) and state = ${ROW_WAITING} for update skip locked)
  update provider_job j set run_at = least(j.run_at, now()) from waiting where j.id = waiting.id returning 1`;

/**
 * Makes waiting provider writes of some objects due now, in the caller's transaction, because what
 * they wait for is known now. Writes that are being settled at this moment are left out.
 */
export async function hurryWritesOf(sql: Sql, objectIds: readonly string[]): Promise<void> {
  if (objectIds.length === 0) return;
  const hurried = await sql.query(HURRY_OBJECTS, [objectIds]);
  if (hurried.length > 0) wakeAfterCommit(sql, 'provider');
}

interface SeenWrite extends RowOf<JobStatus, 'id' | 'status'> {
  queued: boolean;
  locked: boolean;
  running: boolean | null;
}

const see = (lock: string): string => `
  with locked as materialized (
    select id, state from provider_job where id = any($1::uuid[]) order by id ${lock})
  select s.id, s.status, exists (select from provider_job q where q.id = s.id) as queued,
    j.id is not null as locked, j.state <> ${ROW_WAITING} as running
  from job_status s left join locked j on j.id = s.id
  where s.id = any($1::uuid[])
  order by s.id`;
const SEE = see('');
const SEE_AND_LOCK = see('for update skip locked');

const HURRY = `update provider_job set run_at = now() where id = any($1::uuid[]) and state = ${ROW_WAITING}`;

/**
 * Makes waiting provider writes due now, for an operator, in the caller's transaction. A write may
 * run again after an attempt with an unknown outcome. Writes of one object keep their order.
 */
export async function retryWrites(
  sql: Sql,
  ids: readonly string[],
  dryRun: boolean,
): Promise<Steered> {
  const rows = await sql.query<SeenWrite>(dryRun ? SEE : SEE_AND_LOCK, [ids]);
  const { free, skipped } = sortOut(rows, ({ status, queued, locked, running }) => {
    if (status !== 'pending' && status !== 'delayed') return `it has ended: ${status}`;
    if (!queued) return 'it has nothing left to write';
    if (!locked) return BEING_CHANGED;
    return running ? ON_ITS_WAY : null;
  });
  const changed = idsOf(free);
  if (dryRun || changed.length === 0) return { changed, skipped };
  await sql.query(HURRY, [changed]);
  wakeAfterCommit(sql, 'provider');
  return { changed, skipped };
}
