import type { Sql } from '../../platform/database/sql.ts';

/** Removes authorization codes that have expired: nobody can redeem them any more. @returns how many */
export async function pruneAuthorizationCodes(sql: Sql, now: Date): Promise<number> {
  const rows = await sql.query(
    `delete from authorization_code
     where id = any(array(select id from authorization_code where expires_at < $1 limit 1000)) returning 1`,
    [now],
  );
  return rows.length;
}
