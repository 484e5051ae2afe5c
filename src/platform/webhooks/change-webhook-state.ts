import { firstIdAt } from '../base/ids/ids.ts';
import { assertTransition } from '../base/state/transitions.ts';
import type { Sql } from '../database/sql.ts';
import { lockDeliveries } from './delivery/delivery.repository.ts';
import { resetGate } from '../work/gates/rate-gates.ts';
import { requeueWithoutLane } from './events/requeue-events.ts';
import { resumeDeliveries } from './delivery/lane.repository.ts';
import { type OwnerState, WEBHOOK_TRANSITIONS, type WebhookState } from './webhook-state.ts';
import type { Webhook } from './webhook.entity.ts';
import type { RowOf } from '../database/rows/row-of.ts';

/** How far back a failed webhook gets its missed events when it is activated again. */
export const REPLAY_MS = 72 * 3_600_000;

/**
 * Start of the caller's transaction by the clock of the database, which also dates the events. So a
 * subscription of this time has every event of a later transaction.
 */
export async function transactionTime(sql: Sql): Promise<Date> {
  const [row] = await sql.query<{ at: Date }>('select now() as at');
  if (!row) throw new Error('the database did not tell its time');
  return row.at;
}

/** A change of a webhook's state by its owner or an operator. */
export interface StateChange {
  id: string;
  /** The state that was read before; it decides what has to be locked first. */
  before: WebhookState;
  to: OwnerState;
  at: Date;
}

// "no key" lets other transactions queue deliveries during the replay.
const LOCK = `
  select state, subscribed_at as "subscribedAt" from webhook where id = $1 for no key update`;

const WRITE = `
  update webhook set state = $2, paused = false, subscribed_at = $3, failing_since = null, failures = 0, updated_at = $4
  where id = $1`;

/**
 * Activates or deactivates a webhook and clears its failures, in the caller's transaction. A
 * webhook that had failed then gets the events of the last 72 hours that it missed. Run the
 * challenge before.
 * @returns `false` if the webhook was deleted
 * @throws {IllegalTransitionError}
 */
export async function changeWebhookState(
  sql: Sql,
  { id, before, to, at }: StateChange,
): Promise<boolean> {
  if (before === 'failed') await lockDeliveries(sql, id);
  const [webhook] = await sql.query<RowOf<Webhook, 'state' | 'subscribedAt'>>(LOCK, [id]);
  if (!webhook) return false;
  const { state } = webhook;
  if (state !== to) assertTransition<WebhookState>(WEBHOOK_TRANSITIONS, state, to);
  const subscribedAt =
    state === 'inactive' && to === 'active' ? await transactionTime(sql) : webhook.subscribedAt;
  await sql.query(WRITE, [id, to, subscribedAt, at]);
  if (state === 'failed' && to === 'active') {
    const since = Math.max(subscribedAt.getTime(), at.getTime() - REPLAY_MS);
    const afterId = firstIdAt(new Date(since));
    await resumeDeliveries(sql, id, afterId);
    await requeueWithoutLane(sql, id, afterId);
    await resetGate(sql, id);
  }
  return true;
}

const STOP = `
  update webhook set state = 'failed', paused = true, failing_since = coalesce(failing_since, $2), updated_at = $2
  where id = $1 and state in ('active', 'failing') returning 1`;

/**
 * Stops the deliveries of a webhook as if it had failed, for operators: its events stay stored, and
 * those of 72 hours are delivered once it is activated again.
 * @returns `false` if the webhook is neither active nor failing
 */
export async function stopWebhook(sql: Sql, id: string, at: Date): Promise<boolean> {
  return (await sql.query(STOP, [id, at])).length > 0;
}
