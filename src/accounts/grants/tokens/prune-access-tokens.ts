import type { Sql } from '../../../platform/database/sql.ts';

/** How long ended tokens stay listed. */
const KEPT_MS = 30 * 86_400_000;

/**
 * Deletes access tokens that were revoked or expired more than 30 days ago, at most 1000 per call.
 * @returns how many it deleted
 */
export async function pruneAccessTokens(sql: Sql, now: Date): Promise<number> {
  const rows = await sql.query(
    `delete from access_token where id in (
       select id from access_token where id in (
         (select id from access_token where revoked_at < $1 limit 500)
         union (select id from access_token where expires_at < $1 limit 500))
       order by id for update skip locked)
     returning 1`,
    [new Date(now.getTime() - KEPT_MS)],
  );
  return rows.length;
}
