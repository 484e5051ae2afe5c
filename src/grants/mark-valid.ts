import type { Sql } from '../database/sql.ts';
import { recordChanges } from '../deltas/change-log.ts';
import { accountChange } from './account-change.ts';
import type { BillingState } from './grant-status.ts';

const MARK = `
  update "grant" set status = 'valid', status_reason = null, updated_at = $2,
    sync_state = case billing_state when 'paid' then 'running' else 'stopped' end
  where id = $1 and (status <> 'valid' or sync_state <> 'running')
  returning application_id as "applicationId", billing_state as "billingState"`;

/**
 * The account works (again): the grant becomes `valid` and, unless it is cancelled, `running`, of which subscribers
 * hear by `account.running`. In the caller's transaction; a grant that already is both is left alone.
 * @returns whether webhook deliveries were queued
 */
export async function markGrantValid(sql: Sql, accountId: string, at: Date): Promise<boolean> {
  const [grant] = await sql.query<{ applicationId: string; billingState: BillingState }>(MARK, [
    accountId,
    at,
  ]);
  if (grant?.billingState !== 'paid') return false;
  const { applicationId } = grant;
  return recordChanges(sql, [accountChange({ applicationId, accountId }, 'modify', 'account.running', at)]);
}
