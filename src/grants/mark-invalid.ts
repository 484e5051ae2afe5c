import { recordChanges } from '../deltas/change-log.ts';
import type { Sql } from '../database/sql.ts';
import { accountChange } from './account-change.ts';

/**
 * The provider refused the account's credentials for good: the grant becomes `invalid` until the user
 * authenticates again, and subscribers hear `account.invalid`. In the caller's transaction; a grant that is already
 * invalid is left alone.
 * @returns whether webhook deliveries were queued
 */
export async function markGrantInvalid(
  sql: Sql,
  accountId: string,
  reason: string,
  at: Date,
): Promise<boolean> {
  const [grant] = await sql.query<{ applicationId: string }>(
    `update "grant" set status = 'invalid', status_reason = $2, sync_state = 'invalid', updated_at = $3
     where id = $1 and status = 'valid' returning application_id as "applicationId"`,
    [accountId, reason, at],
  );
  if (!grant) return false;
  const { applicationId } = grant;
  return recordChanges(sql, [accountChange({ applicationId, accountId }, 'modify', 'account.invalid', at)]);
}
