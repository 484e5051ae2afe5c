import type { Sql } from '../../platform/database/sql.ts';

const BATCH = 1_000;

const PRUNE = `
  with old as materialized (
    select message_id from tracked_message where counted_until < $1 order by counted_until limit $2 for update skip locked),
  gone as (delete from tracked_message t using old where t.message_id = old.message_id returning 1)
  select count(*)::int as count from gone`;

/**
 * Deletes the tracking data of messages whose tracking period is over, at most 1000 rows. Their
 * links keep working. Safe to run at any time and in several processes.
 * @returns number of deleted rows; 0 if there was nothing to delete
 */
export async function pruneTrackedMessages(sql: Sql, now: Date): Promise<number> {
  const [row] = await sql.query<{ count: number }>(PRUNE, [now, BATCH]);
  return row?.count ?? 0;
}
