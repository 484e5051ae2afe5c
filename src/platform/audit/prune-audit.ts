import type { SqlConnection } from '../database/sql.ts';

const DAY_MS = 86_400_000;

/** The trigger of the table reads this setting of the transaction. */
const NAME_AGE = `select set_config('carillon.audit_kept_since', $1, true)`;

const PRUNE = `
  delete from audit_entry where id in (select id from audit_entry where at < $1 order by at limit 1000)
  returning 1`;

/**
 * Removes entries of the audit log that are older than the retention period. The database refuses
 * every other deletion.
 * @param days at least 30
 * @returns the number of removed rows, at most 1000
 */
export function pruneAudit(sql: SqlConnection, now: Date, days: number): Promise<number> {
  const since = new Date(now.getTime() - days * DAY_MS);
  return sql.transaction(async (open) => {
    await open.query(NAME_AGE, [since.toISOString()]);
    return (await open.query(PRUNE, [since])).length;
  });
}
