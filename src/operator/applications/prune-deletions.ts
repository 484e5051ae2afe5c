import type { Sql } from '../../platform/database/sql.ts';

const PRUNE = 'delete from application_deletion where finished_at < $1 returning 1';
const RETENTION_MS = 90 * 86_400_000;

/** Deletes records of deletions that ended more than 90 days ago. @returns how many */
export async function pruneDeletions(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [new Date(now.getTime() - RETENTION_MS)])).length;
}
