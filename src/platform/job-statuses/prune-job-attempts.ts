import { firstIdAt } from '../base/ids/ids.ts';
import type { Sql } from '../database/sql.ts';

/** Timelines are kept this long: longer than any job is tried. */
export const JOB_ATTEMPT_RETENTION_MS = 30 * 24 * 3_600_000;

const BATCH = 5_000;

// Ids sort by time, so the oldest rows are one range of the primary key.
const PRUNE = `
  with old as materialized (select id from job_attempt where id < $1 order by id limit $2),
  gone as (delete from job_attempt a using old where a.id = old.id returning 1)
  select count(*)::int as count from gone`;

/**
 * Deletes attempts of jobs older than 30 days: at most 5000, oldest first. Jobs themselves stay. Safe to run at any time and
 * by several processes.
 * @returns how many rows went; 0 when there is nothing left to delete
 */
export async function pruneJobAttempts(sql: Sql, now: Date): Promise<number> {
  const before = firstIdAt(new Date(now.getTime() - JOB_ATTEMPT_RETENTION_MS));
  const [row] = await sql.query<{ count: number }>(PRUNE, [before, BATCH]);
  return row?.count ?? 0;
}
