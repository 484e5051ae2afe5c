import type { Sql } from '../database/sql.ts';

const PAUSE = `
  update webhook set state = 'inactive', failing_since = null, failures = 0, updated_at = $1
  where state <> 'inactive' returning 1`;

/**
 * Makes the webhooks of all applications inactive, as if their owners had: nothing is delivered to them, also not what
 * is queued already. For operators. @returns how many were not so before
 */
export async function pauseWebhooks(sql: Sql, at: Date): Promise<number> {
  return (await sql.query(PAUSE, [at])).length;
}
