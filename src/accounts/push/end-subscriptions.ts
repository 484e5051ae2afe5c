import type { Sql } from '../../platform/database/sql.ts';

const END = `
  update push_subscription set wanted = false, due_at = $2, failures = 0 where account_id = $1 and wanted`;

/**
 * Has all subscriptions of an account ended soon, for example because the account was cancelled.
 * Runs in the caller's transaction, after `unscheduleSync`.
 */
export async function endSubscriptions(sql: Sql, accountId: string, now: Date): Promise<void> {
  await sql.query(END, [accountId, now]);
}
