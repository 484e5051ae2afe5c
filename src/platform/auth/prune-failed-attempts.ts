import type { Sql } from '../database/sql.ts';

/** Removes counts of failed attempts whose time is over. @returns how many */
export async function pruneFailedAttempts(sql: Sql, now: Date): Promise<number> {
  const rows = await sql.query(
    `delete from failed_attempt
     where key in (select key from failed_attempt where ends_at <= $1 order by key limit 1000 for update skip locked)
     returning 1`,
    [now],
  );
  return rows.length;
}
