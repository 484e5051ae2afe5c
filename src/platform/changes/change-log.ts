import { type Scope, SCOPES_FOR } from '../auth/scopes.ts';
import { newId } from '../base/ids/ids.ts';
import { toUnixSeconds } from '../base/time/unix-seconds.ts';
import { signals, wakeAfterCommit } from '../work/signals.ts';
import { columnsOf, afterCommit, type Sql } from '../database/sql.ts';
import { currentTraceparent } from '../tracing/traceparent.ts';
import { storeEvents, withEvents } from '../webhooks/events/store-events.ts';
import type { Trigger } from '../webhooks/webhook-state.ts';
import { writerKey } from '../database/writer-keys.ts';
import { webhookOf } from './usual-webhooks.ts';

/**
 * Kinds of objects that change. Those of `UNLOGGED` are reported by webhook only and are not in the
 * log.
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
  | 'grant'
  | 'reminder'
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
  /**
   * Webhook to send to subscribers; `null`: none. Absent: threads, folders, labels, drafts and
   * deleted messages have one without attributes, the others none (`usual-webhooks.ts`).
   */
  webhook?: ChangeWebhook | null;
}

/** The webhook of a change. */
export interface ChangeWebhook {
  /** Subscribers of this trigger get it. */
  trigger: Trigger;
  /** Key that prevents a second webhook for the same event; unique across all events. */
  dedupe: string;
  /** `object_data.attributes` of the webhook. */
  attributes?: Record<string, unknown> | null;
  /** `object_data.metadata` of the webhook. */
  metadata?: Record<string, unknown> | null;
  /** Folders or labels that the object is in, or was in before. For filters of webhooks. */
  folders?: readonly string[];
  /** Domains of the senders, as `domainsOf` writes them. For filters of webhooks. */
  fromDomains?: readonly string[];
}

/** An account needs one of these scopes for webhooks about an object; absent: it needs none. */
const WEBHOOK_SCOPES: Readonly<Partial<Record<ChangeObject, readonly Scope[]>>> = {
  message: SCOPES_FOR.mailWebhooks,
  thread: SCOPES_FOR.mailWebhooks,
  folder: SCOPES_FOR.readFolders,
  label: SCOPES_FOR.readFolders,
  draft: SCOPES_FOR.readDrafts,
  contact: SCOPES_FOR.readContacts,
  calendar: SCOPES_FOR.readCalendar,
  event: SCOPES_FOR.readCalendar,
  reminder: SCOPES_FOR.readCalendar,
};

const UNLOGGED: readonly ChangeObject[] = ['job_status', 'account', 'grant', 'reminder', 'quota'];

function webhookBody(change: ChangeRecord, webhook: ChangeWebhook): Buffer {
  const delta = {
    date: toUnixSeconds(change.at),
    object: change.object,
    type: webhook.trigger,
    object_data: {
      namespace_id: change.accountId,
      account_id: change.accountId,
      object: change.object,
      id: change.objectId,
      attributes: webhook.attributes ?? null,
      metadata: webhook.metadata ?? null,
    },
  };
  return Buffer.from(JSON.stringify({ deltas: [delta] }));
}

// The lock that announces this writer (writer-keys.ts) must be taken before the numbers are
// drawn. `count(*)` from `writing` enforces that order. The log names the event of a change, and
// what filters compare, so that it can be proven that no event is missing (docs/adr/0160).
const RECORD = withEvents(`
  writing as materialized (
    select pg_advisory_xact_lock_shared(${writerKey('a.id', 'change_seq_seq')})
    from (select distinct id from unnest($11::uuid[]) g(id)) a),
  logged as (
    insert into change (account_id, object, object_id, event, event_id, folders, from_domains)
    select x.account_id, x.object, x.object_id, x.event, d.id,
      case when d.filtered then d.folders end, case when d.filtered then d.from_domains end
    from (select count(*) from writing) seen,
      unnest($11::uuid[], $12::text[], $13::uuid[], $14::text[], $15::uuid[]) x(account_id, object, object_id, event, event_id)
      left join due d on d.id = x.event_id)`);

/** A change with the webhook to send about it. */
interface Notice {
  change: ChangeRecord;
  webhook: ChangeWebhook;
}

/** Above this number of events, it is cheaper to ask for the triggers that anybody wants. */
const MANY_EVENTS = 100;

const WANTED_TRIGGERS = `
  select distinct application_id || ':' || unnest(triggers) as wanted from webhook
  where application_id = any($1::uuid[]) and state <> 'inactive'`;

/** The webhooks of changes; of many, only those of triggers that the application subscribed to. */
async function noticesOf(sql: Sql, changes: readonly ChangeRecord[]): Promise<Notice[]> {
  const notices = changes.flatMap((change): Notice[] => {
    const webhook = webhookOf(change);
    return webhook ? [{ change, webhook }] : [];
  });
  if (notices.length <= MANY_EVENTS) return notices;
  const applications = [...new Set(notices.map(({ change }) => change.applicationId))];
  const rows = await sql.query<{ wanted: string }>(WANTED_TRIGGERS, [applications]);
  const wanted = new Set(rows.map((row) => row.wanted));
  return notices.filter(({ change, webhook }) =>
    wanted.has(`${change.applicationId}:${webhook.trigger}`),
  );
}

/**
 * Writes changes to the log and stores the events of their webhooks, in the caller's transaction
 * and one round trip; two if there are over 100 events. Changes of an account's objects are sent to
 * subscribers only if its scopes allow that. After the commit, clients that wait for changes of
 * these accounts and the dispatcher of deliveries are notified.
 */
export async function recordChanges(sql: Sql, changes: readonly ChangeRecord[]): Promise<void> {
  if (changes.length === 0) return;
  const logged = changes.filter(
    (change) => change.logged !== false && !UNLOGGED.includes(change.object),
  );
  const current = currentTraceparent();
  const notices = await noticesOf(sql, changes);
  const eventIds = new Map<ChangeRecord, string>();
  const events = notices.map(({ change, webhook }) => {
    const id = newId();
    eventIds.set(change, id);
    const { applicationId, accountId, object } = change;
    const { trigger, dedupe, folders = [], fromDomains = [] } = webhook;
    const scopes = WEBHOOK_SCOPES[object] ?? null;
    return {
      id,
      applicationId,
      accountId,
      trigger,
      dedupe,
      scopes,
      folders,
      fromDomains,
      body: webhookBody(change, webhook),
      traceparent: change.traceparent ?? current,
    };
  });
  const stored = await storeEvents(sql, RECORD, events, [
    ...columnsOf(logged, 'accountId', 'object', 'objectId', 'event'),
    logged.map((change) => eventIds.get(change) ?? null),
  ]);
  if (stored) wakeAfterCommit(sql, 'hook');
  const accounts = [...new Set(logged.map(({ accountId }) => accountId))];
  if (accounts.length > 0)
    afterCommit(sql, () => signals.send({ kind: 'changed', accounts, elsewhere: false }));
}
