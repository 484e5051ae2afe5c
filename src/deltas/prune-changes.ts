import type { Sql } from '../database/sql.ts';

/** The change log reaches this far back. */
export const CHANGE_RETENTION_MS = 14 * 24 * 3_600_000;

const BATCH = 5_000;

const PRUNE = `
  with old as materialized (select seq from change where at < $1 order by at limit $2),
  gone as (delete from change c using old where c.seq = old.seq returning 1)
  select count(*)::int as count from gone`;

/**
 * Deletes changes older than 14 days: at most 5000, oldest first. Safe to run at any time and by several processes.
 * @returns how many rows went; 0 when there is nothing left to delete
 */
export async function pruneChanges(sql: Sql, now: Date): Promise<number> {
  const before = new Date(now.getTime() - CHANGE_RETENTION_MS);
  const [row] = await sql.query<{ count: number }>(PRUNE, [before, BATCH]);
  return row?.count ?? 0;
}
