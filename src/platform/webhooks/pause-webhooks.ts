import type { Sql } from '../database/sql.ts';

const PAUSE = `
  update webhook set state = 'inactive', failing_since = null, failures = 0, updated_at = $1
  where state <> 'inactive' returning 1`;

/**
 * Makes the webhooks of all applications inactive, as their owners could. Nothing more is delivered
 * to them, including deliveries that are already queued. For operators.
 * @returns the number of webhooks that were not inactive before
 */
export async function pauseWebhooks(sql: Sql, at: Date): Promise<number> {
  return (await sql.query(PAUSE, [at])).length;
}
