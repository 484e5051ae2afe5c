import type { Sql } from '../database/sql.ts';

/** How long changes stay in the log. */
export const CHANGE_RETENTION_MS = 14 * 24 * 3_600_000;

const BATCH = 5_000;

// A reader that has not yet read a deleted change must get 410, so the newest deleted number is
// recorded (docs/adr/0036).
const PRUNE = `
  with old as materialized (select account_id, seq from change where at < $1 order by at limit $2),
  deleted as (delete from change c using old where c.account_id = old.account_id and c.seq = old.seq
    returning c.account_id, c.object, c.seq),
  owners as materialized (
    select g.id from "grant" g where g.id in (select account_id from deleted) for key share),
  recorded as (
    insert into change_pruned (account_id, object, seq)
    select deleted.account_id, deleted.object, max(deleted.seq)
    from deleted join owners on owners.id = deleted.account_id
    group by deleted.account_id, deleted.object
    on conflict (account_id, object) do update set seq = greatest(change_pruned.seq, excluded.seq))
  select count(*)::int as count from deleted`;

/**
 * Deletes changes older than 14 days: at most 5000, oldest first. Records the newest deleted change
 * of each account and kind of object. Safe to run at any time and in several processes.
 * @returns the number of deleted changes; 0 if none is left
 */
export async function pruneChanges(sql: Sql, now: Date): Promise<number> {
  const before = new Date(now.getTime() - CHANGE_RETENTION_MS);
  const [row] = await sql.query<{ count: number }>(PRUNE, [before, BATCH]);
  return row?.count ?? 0;
}
