import { newId } from '../../base/ids/ids.ts';
import { toUnixSeconds } from '../../base/time/unix-seconds.ts';
import type { Sql } from '../../database/sql.ts';
import { wakeAfterCommit } from '../../work/signals.ts';
import { withoutQuery } from '../callback-address.ts';
import { storeEvents, withEvents } from '../events/store-events.ts';
import type { Trigger, WebhookState } from '../webhook-state.ts';
import type { WebhookHealth } from './delivery-policy.ts';

/** A webhook whose deliveries have changed its state. */
export interface ChangedHealth extends WebhookHealth {
  id: string;
  applicationId: string;
  callbackUrl: string;
  /** Why its last delivery failed; `null` if none did. */
  reason: string | null;
}

const TRIGGERS = {
  active: 'webhook.recovered',
  failing: 'webhook.failing',
  failed: 'webhook.failed',
} as const satisfies Partial<Record<WebhookState, Trigger>>;

const STORE = withEvents('nothing as (select 1)');

/**
 * Stores the event of each changed state, in the caller's transaction, for the other webhooks of
 * the application. The webhook itself gets it too if it is subscribed, once deliveries succeed.
 */
export async function announceHealth(
  sql: Sql,
  changed: readonly ChangedHealth[],
  at: Date,
): Promise<void> {
  const events = changed.flatMap((webhook) => {
    const { id, applicationId, state } = webhook;
    if (state === 'inactive') return [];
    const trigger = TRIGGERS[state];
    return {
      id: newId(),
      applicationId,
      // Such events are of no account. They are in order among those of the same webhook.
      accountId: id,
      trigger,
      body: bodyOf(webhook, trigger, at),
      dedupe: `${trigger}:${id}:${newId()}`,
      scopes: null,
      folders: [],
      fromDomains: [],
      traceparent: null,
    };
  });
  if (events.length > 0 && (await storeEvents(sql, STORE, events, [])))
    wakeAfterCommit(sql, 'hook');
}

function bodyOf(webhook: ChangedHealth, trigger: Trigger, at: Date): Buffer {
  const { id, callbackUrl, state, failingSince, failures, reason } = webhook;
  const attributes = {
    callback_url: withoutQuery(callbackUrl),
    state,
    reason,
    failing_since: failingSince && toUnixSeconds(failingSince),
    failures,
  };
  const data = { namespace_id: null, account_id: null, object: 'webhook', id, attributes };
  const delta = {
    date: toUnixSeconds(at),
    object: 'webhook',
    type: trigger,
    object_data: { ...data, metadata: null },
  };
  return Buffer.from(JSON.stringify({ deltas: [delta] }));
}
