import { type Scope, SCOPES_FOR } from '../auth/scopes.ts';
import { newId } from '../base/ids/ids.ts';
import { toUnixSeconds } from '../base/time/unix-seconds.ts';
import { signals, wakeAfterCommit } from '../work/signals.ts';
import { columnsOf, afterCommit, type Sql } from '../database/sql.ts';
import { currentTraceparent } from '../tracing/traceparent.ts';
import { storeEvents, withEvents } from '../webhooks/events/store-events.ts';
import type { Trigger } from '../webhooks/webhook-state.ts';
import { writerKey } from '../database/writer-keys.ts';

/**
 * Kinds of objects that change. `job_status`, `account` and `quota` are reported by webhook only
 * and are not in the log.
 */
export type ChangeObject =
  | 'message'
  | 'thread'
  | 'file'
  | 'folder'
  | 'label'
  | 'draft'
  | 'contact'
  | 'calendar'
  | 'event'
  | 'job_status'
  | 'account'
  | 'quota';

/** One change that clients can see. */
export interface ChangeRecord {
  applicationId: string;
  accountId: string;
  object: ChangeObject;
  objectId: string;
  event: 'create' | 'modify' | 'delete';
  at: Date;
  /**
   * `false` if an event concerns the object but the object has not changed. It is then reported by
   * webhook only. Default: true.
   */
  logged?: false;
  /** Span under which the webhook is delivered. Absent or `null`: the current span. */
  traceparent?: string | null | undefined;
  /** Webhook to send to subscribers of this trigger; absent: no webhook. */
  webhook?: {
    trigger: Trigger;
    /** Key that prevents a second webhook for the same event; unique across all events. */
    dedupe: string;
    /** `object_data.attributes` of the webhook. */
    attributes?: Record<string, unknown> | null;
    /** `object_data.metadata` of the webhook. */
    metadata?: Record<string, unknown> | null;
  };
}

/** An account needs one of these scopes for webhooks about an object; absent: it needs none. */
const WEBHOOK_SCOPES: Readonly<Partial<Record<ChangeObject, readonly Scope[]>>> = {
  message: SCOPES_FOR.mailWebhooks,
  thread: SCOPES_FOR.mailWebhooks,
  contact: SCOPES_FOR.readContacts,
  calendar: SCOPES_FOR.readCalendar,
  event: SCOPES_FOR.readCalendar,
};

const UNLOGGED: readonly ChangeObject[] = ['job_status', 'account', 'quota'];

function webhookBody(change: ChangeRecord): Buffer {
  const delta = {
    date: toUnixSeconds(change.at),
    object: change.object,
    type: change.webhook?.trigger,
    object_data: {
      namespace_id: change.accountId,
      account_id: change.accountId,
      object: change.object,
      id: change.objectId,
      attributes: change.webhook?.attributes ?? null,
      metadata: change.webhook?.metadata ?? null,
    },
  };
  return Buffer.from(JSON.stringify({ deltas: [delta] }));
}

// The lock that announces this writer (writer-keys.ts) must be taken before the numbers are
// drawn. `count(*)` from `writing` enforces that order.
const RECORD = withEvents(`
  writing as materialized (
    select pg_advisory_xact_lock_shared(${writerKey('a.id', 'change_seq_seq')})
    from (select distinct id from unnest($9::uuid[]) g(id)) a),
  logged as (
    insert into change (account_id, object, object_id, event)
    select x.* from (select count(*) from writing) seen,
      unnest($9::uuid[], $10::text[], $11::uuid[], $12::text[]) x(account_id, object, object_id, event))`);

/**
 * Writes changes to the log and stores the events of their webhooks, in the caller's transaction
 * and one round trip. Changes of an account's mail, calendars and contacts are sent to subscribers
 * only if its scopes allow that. After the commit, clients that wait for changes of these accounts
 * and the dispatcher of deliveries are notified.
 */
export async function recordChanges(sql: Sql, changes: readonly ChangeRecord[]): Promise<void> {
  if (changes.length === 0) return;
  const logged = changes.filter(
    (change) => change.logged !== false && !UNLOGGED.includes(change.object),
  );
  const current = currentTraceparent();
  const events = changes.flatMap((change) => {
    const { applicationId, accountId, object, webhook } = change;
    if (!webhook) return [];
    const { trigger, dedupe } = webhook;
    const scopes = WEBHOOK_SCOPES[object] ?? null;
    return {
      id: newId(),
      applicationId,
      accountId,
      trigger,
      dedupe,
      scopes,
      body: webhookBody(change),
      traceparent: change.traceparent ?? current,
    };
  });
  const stored = await storeEvents(sql, RECORD, events, [
    ...columnsOf(logged, 'accountId', 'object', 'objectId', 'event'),
  ]);
  if (stored) wakeAfterCommit(sql, 'hook');
  const accounts = [...new Set(logged.map(({ accountId }) => accountId))];
  if (accounts.length > 0)
    afterCommit(sql, () => signals.send({ kind: 'changed', accounts, elsewhere: false }));
}
