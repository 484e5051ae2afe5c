import type { Sql } from '../../platform/database/sql.ts';

const PRUNE = `
  update application set previous_secret_hash = null, previous_secret_sealed = null, previous_secret_until = null
  where id in (
    select id from application where previous_secret_until <= $1 order by id limit 1000 for update skip locked)
  returning 1`;

/**
 * Deletes client secrets whose time beside a new one is over, at most 1000 per call.
 * @returns how many it deleted
 */
export async function prunePreviousSecrets(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [now])).length;
}
