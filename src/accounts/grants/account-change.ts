import { newId } from '../../platform/base/ids/ids.ts';
import type { ChangeRecord } from '../../platform/changes/change-log.ts';
import type { Trigger } from '../../platform/webhooks/webhook-state.ts';

/**
 * A change of the account itself, for `recordChanges`. Each call is a separate event with its own
 * webhook.
 */
export function accountChange(
  account: { applicationId: string; accountId: string },
  event: ChangeRecord['event'],
  trigger: Extract<Trigger, `account.${string}`>,
  at: Date,
): ChangeRecord & Required<Pick<ChangeRecord, 'webhook'>> {
  const { applicationId, accountId } = account;
  return {
    applicationId,
    accountId,
    object: 'account',
    objectId: accountId,
    event,
    at,
    webhook: { trigger, dedupe: `${trigger}:${accountId}:${newId()}` },
  };
}
