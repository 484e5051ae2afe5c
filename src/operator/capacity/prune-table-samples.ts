import type { Sql } from '../../platform/database/sql.ts';
import { dayOf } from '../../platform/quotas/quota.ts';

/** How many days of sizes are shown. */
export const HISTORY_DAYS = 90;

const PRUNE = 'delete from table_sample where day < $1::date returning 1';

/** Deletes samples that no list shows any more. @returns how many */
export async function pruneTableSamples(sql: Sql, now: Date): Promise<number> {
  const before = new Date(now.getTime() - (HISTORY_DAYS + 1) * 86_400_000);
  return (await sql.query(PRUNE, [dayOf(before)])).length;
}
