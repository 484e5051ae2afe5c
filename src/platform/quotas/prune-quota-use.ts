import type { Sql } from '../database/sql.ts';
import { dayOf } from './quota.ts';

const BATCH = 5_000;
/** Longer than anybody asks what was used. */
const RETENTION_MS = 31 * 86_400_000;

const PRUNE = `
  with old as materialized (
    select id from quota_use where day < $1::date order by day limit $2 for update skip locked),
  gone as (delete from quota_use q using old where q.id = old.id returning 1)
  select count(*)::int as count from gone`;

/**
 * Deletes counts of quotas older than 31 days, at most 5000. Safe to run at any time and by several processes.
 * @returns how many rows went; 0 when there is nothing left to delete
 */
export async function pruneQuotaUse(sql: Sql, now: Date): Promise<number> {
  const before = dayOf(new Date(now.getTime() - RETENTION_MS));
  const [row] = await sql.query<{ count: number }>(PRUNE, [before, BATCH]);
  return row?.count ?? 0;
}
