import type { ChangeRecord } from '../../platform/changes/change-log.ts';
import { dedupeKey } from '../../platform/changes/usual-webhooks.ts';
import type { Trigger } from '../../platform/webhooks/webhook-state.ts';

/** The account that changed, its application, and when. */
export interface ChangedAccountIds {
  applicationId: string;
  accountId: string;
  at: Date;
}

/**
 * A change of the account itself, for `recordChanges`. Each call is a separate event with its own
 * webhook.
 * @param attributes `object_data.attributes` of the webhook
 */
export function accountChange(
  account: ChangedAccountIds,
  event: ChangeRecord['event'],
  trigger: Extract<Trigger, `account.${string}`>,
  attributes: Record<string, unknown> | null = null,
): ChangeRecord {
  return changeOf('account', account, event, trigger, attributes);
}

const GRANT_EVENTS = {
  'grant.created': 'create',
  'grant.updated': 'modify',
  'grant.expired': 'modify',
  'grant.deleted': 'delete',
} as const satisfies Partial<Record<Trigger, ChangeRecord['event']>>;

/**
 * A change of a grant under the triggers of the Nylas API v3. They report what happened to the
 * user's consent; `account.*` reports the state of the account.
 * @param more what the event says beside the grant's id and provider
 */
export function grantChange(
  account: ChangedAccountIds & { provider: string },
  trigger: keyof typeof GRANT_EVENTS,
  more: Record<string, unknown> = {},
): ChangeRecord {
  const attributes = { grant_id: account.accountId, provider: account.provider, ...more };
  return changeOf('grant', account, GRANT_EVENTS[trigger], trigger, attributes);
}

function changeOf(
  object: 'account' | 'grant',
  { applicationId, accountId, at }: ChangedAccountIds,
  event: ChangeRecord['event'],
  trigger: Trigger,
  attributes: Record<string, unknown> | null,
): ChangeRecord {
  const webhook = { trigger, dedupe: dedupeKey(trigger, accountId), attributes };
  return { applicationId, accountId, object, objectId: accountId, event, at, webhook };
}
