import { type Scope, SCOPES_FOR } from '../auth/scopes.ts';
import { newId } from '../base/ids/ids.ts';
import { toUnixSeconds } from '../base/time/unix-seconds.ts';
import { signals, wakeAfterCommit } from '../work/signals.ts';
import { columnsOf, afterCommit, type Sql } from '../database/sql.ts';
import { deliveriesBeside, queueDeliveries } from '../webhooks/queue-deliveries.ts';
import type { Trigger } from '../webhooks/webhook-state.ts';
import { writerKey } from './writer-keys.ts';

/** Kinds of objects in the log; `job_status`, `account` and `quota` are told by webhook only. */
export type ChangeObject =
  | 'message' | 'thread' | 'file' | 'folder' | 'label' | 'draft' | 'contact' | 'calendar' | 'event'
  | 'job_status' | 'account' | 'quota'; // prettier-ignore

/** One change a client can see. */
export interface ChangeRecord {
  applicationId: string;
  accountId: string;
  object: ChangeObject;
  objectId: string;
  event: 'create' | 'modify' | 'delete';
  at: Date;
  /** False: something has happened to the object, but nothing of it has changed: told by webhook only. Default true. */
  logged?: false;
  /** Tells subscribers of this trigger; absent: no webhook. */
  webhook?: {
    trigger: Trigger;
    /** Makes a second emission of the same happening impossible; unique over everything. */
    dedupe: string;
    /** `object_data.attributes` (api facts 10.4). */
    attributes?: Record<string, unknown> | null;
    /** `object_data.metadata`. */
    metadata?: Record<string, unknown> | null;
  };
}

/** What is due within so many milliseconds is due. */
const SOON_MS = 5;

/** Scopes of which an account needs one for its changes to be told by webhook (api facts 3.3); absent: none. */
const TOLD_WITH: Readonly<Partial<Record<ChangeObject, readonly Scope[]>>> = {
  message: SCOPES_FOR.hearOfMail,
  thread: SCOPES_FOR.hearOfMail,
  contact: SCOPES_FOR.readContacts,
  calendar: SCOPES_FOR.readCalendar,
  event: SCOPES_FOR.readCalendar,
};

const UNLOGGED: readonly ChangeObject[] = ['job_status', 'account', 'quota'];

/** The exact bytes subscribers get (api facts 10.4). */
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

// First everybody can see that we write (writer-keys.ts), then the numbers are drawn: the count is there before any row.
const RECORD = deliveriesBeside(`
  writing as materialized (
    select pg_advisory_xact_lock_shared(${writerKey('a.id')})
    from (select distinct id from unnest($10::uuid[]) g(id)) a),
  logged as (
    insert into change (account_id, object, object_id, event)
    select x.* from (select count(*) from writing) seen,
      unnest($10::uuid[], $11::text[], $12::uuid[], $13::text[]) x(account_id, object, object_id, event))`);

/**
 * Writes changes to the log and queues their webhook deliveries, in the caller's transaction and one round trip. Subscribers
 * hear of an account's mail, calendars and contacts only as far as its scopes go. After the commit, whoever waits for changes of
 * the accounts hears of them, and the engine of the deliveries.
 */
export async function recordChanges(sql: Sql, changes: readonly ChangeRecord[]): Promise<void> {
  if (changes.length === 0) return;
  const logged = changes.filter(
    (change) => change.logged !== false && !UNLOGGED.includes(change.object),
  );
  const told = changes.flatMap((change) => {
    const { applicationId, accountId, object, webhook } = change;
    if (!webhook) return [];
    const { trigger, dedupe } = webhook;
    const scopes = TOLD_WITH[object] ?? null;
    return {
      id: newId(),
      applicationId,
      accountId,
      trigger,
      dedupe,
      scopes,
      body: webhookBody(change),
    };
  });
  const waitMs = await queueDeliveries(sql, RECORD, told, [
    ...columnsOf(logged, 'accountId', 'object', 'objectId', 'event'),
  ]);
  if (waitMs !== null) wakeAfterCommit(sql, 'hook', waitMs > SOON_MS ? waitMs : 0);
  const accounts = [...new Set(logged.map(({ accountId }) => accountId))];
  if (accounts.length > 0)
    afterCommit(sql, () => signals.send({ kind: 'changed', accounts, elsewhere: false }));
}
