import type { Sql } from '../database/sql.ts';

/** The change log reaches this far back. */
export const CHANGE_RETENTION_MS = 14 * 24 * 3_600_000;

const BATCH = 5_000;

// What a reader has not seen is gone for him: he is told (docs/adr/0036).
const PRUNE = `
  with old as materialized (select account_id, seq from change where at < $1 order by at limit $2),
  gone as (delete from change c using old where c.account_id = old.account_id and c.seq = old.seq
    returning c.account_id, c.object, c.seq),
  owners as materialized (
    select g.id from "grant" g where g.id in (select account_id from gone) for key share),
  noted as (
    insert into change_pruned (account_id, object, seq)
    select gone.account_id, gone.object, max(gone.seq) from gone join owners on owners.id = gone.account_id
    group by gone.account_id, gone.object
    on conflict (account_id, object) do update set seq = greatest(change_pruned.seq, excluded.seq))
  select count(*)::int as count from gone`;

/**
 * Deletes changes older than 14 days: at most 5000, oldest first; how far that went is kept for each account and kind.
 * Safe to run at any time and by several processes.
 * @returns how many rows went; 0 when there is nothing left to delete
 */
export async function pruneChanges(sql: Sql, now: Date): Promise<number> {
  const before = new Date(now.getTime() - CHANGE_RETENTION_MS);
  const [row] = await sql.query<{ count: number }>(PRUNE, [before, BATCH]);
  return row?.count ?? 0;
}
