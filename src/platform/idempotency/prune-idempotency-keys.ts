import type { Sql } from '../database/sql.ts';

/** A key means its first request for this long; then it is free again. */
export const IDEMPOTENCY_KEY_RETENTION_MS = 24 * 3_600_000;

const PRUNE = `
  delete from idempotency_key
  where (account_id, key) in (select account_id, key from idempotency_key where created_at <= $1
                              order by created_at limit 1000 for update skip locked)
  returning 1`;

/** Removes idempotency keys that are free again, at most 1000. @returns how many */
export async function pruneIdempotencyKeys(sql: Sql, now: Date): Promise<number> {
  const rows = await sql.query(PRUNE, [new Date(now.getTime() - IDEMPOTENCY_KEY_RETENTION_MS)]);
  return rows.length;
}
