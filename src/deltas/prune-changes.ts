import type { Sql } from '../database/sql.ts';

/** The change log reaches this far back. */
export const CHANGE_RETENTION_MS = 14 * 24 * 3_600_000;

const BATCH = 5_000;

const PRUNE = `
  with old as materialized (select seq from change where at < $1 order by at limit $2),
  gone as (delete from change c using old where c.seq = old.seq returning 1)
  select count(*)::int as count from gone`;

/**
 * Deletes changes older than 14 days, in batches, each a transaction of its own. Safe to run at any time and by several
 * processes.
 * @returns how many rows went
 */
export async function pruneChanges(sql: Sql, now: Date): Promise<number> {
  const before = new Date(now.getTime() - CHANGE_RETENTION_MS);
  for (let total = 0; ;) {
    const [batch] = await sql.query<{ count: number }>(PRUNE, [before, BATCH]);
    total += batch?.count ?? 0;
    if (!batch || batch.count < BATCH) return total;
  }
}
