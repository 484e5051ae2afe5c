import { type Scope, SCOPES_FOR } from '../auth/scopes.ts';
import { changeBell } from '../work/change-bell.ts';
import { newId } from '../base/ids/ids.ts';
import { toUnixSeconds } from '../base/time/unix-seconds.ts';
import { laterWork } from '../work/wake.ts';
import { afterCommit, type Sql } from '../database/sql.ts';
import { type BookedDeliveries, deliveryPace } from '../webhooks/delivery-pace.ts';
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
// Deliveries are due at the pace of their webhook: due all at once, most would have to be moved to later one by one. One for a
// webhook that is removed at the same moment comes to nothing.
const RECORD = `
  with writing as materialized (
    select pg_advisory_xact_lock_shared(${writerKey('a.id')})
    from (select distinct id from unnest($1::uuid[]) g(id)) a),
  logged as (
    insert into change (account_id, object, object_id, event)
    select x.* from (select count(*) from writing) seen,
      unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[]) x(account_id, object, object_id, event)),
  happened as (
    select * from unnest($5::uuid[], $6::uuid[], $7::text[], $8::bytea[], $9::text[], $12::uuid[], $13::text[])
      h(id, application_id, type, body, dedupe, account_id, scopes)),
  told as (
    insert into webhook_event (id, application_id, type, body, dedupe)
    select h.id, h.application_id, h.type, h.body, h.dedupe from happened h
    where exists (select 1 from webhook w
                  where w.application_id = h.application_id and h.type = any(w.triggers) and w.state <> 'inactive')
      and (h.scopes is null or not exists (
        select 1 from "grant" g left join integration i on i.id = g.integration_id
        where g.id = h.account_id
          and not (coalesce(coalesce(g.scope, i.scope) && string_to_array(h.scopes, ','), true)
                   and coalesce(g.granted_scope && string_to_array(h.scopes, ','), true))))
    on conflict (dedupe) do nothing
    returning id, application_id, type),
  due as (
    select t.id as event_id, w.id as webhook_id, coalesce(g.slot_ms, 50) as slot_ms,
      greatest(now(), g.next_slot, now() + p.wait_ms * interval '1 ms')
        + (row_number() over (partition by w.id order by t.id) - 1) * coalesce(g.slot_ms, 50) * interval '1 ms' as run_at
    from told t join webhook w on w.application_id = t.application_id and t.type = any(w.triggers)
                              and w.state in ('active', 'failing')
    left join account_gate g on g.account_id = w.id
    left join unnest($10::uuid[], $11::float8[]) p(webhook_id, wait_ms) on p.webhook_id = w.id),
  queued as (
    insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at)
    select gen_random_uuid(), event_id, webhook_id, run_at, now(), now() + interval '76 hours' from due)
  select webhook_id as "webhookId", count(*)::int * slot_ms as "tookMs",
    (extract(epoch from min(run_at) - now()) * 1000)::float8 as "waitMs"
  from due group by webhook_id, slot_ms`;

/**
 * Writes changes to the log and queues their webhook deliveries, in the caller's transaction and one round trip. Subscribers
 * hear of an account's mail, calendars and contacts only as far as its scopes go. Whoever
 * waits for changes of the accounts hears of them after the commit.
 * @returns whether deliveries were queued that are due: then the caller wakes `hook` after its commit
 */
export async function recordChanges(sql: Sql, changes: readonly ChangeRecord[]): Promise<boolean> {
  if (changes.length === 0) return false;
  const logged = changes.filter((change) => change.logged !== false && !UNLOGGED.includes(change.object));
  const told = changes.filter(({ webhook }) => webhook);
  const ahead = told.length > 0 ? deliveryPace.ahead() : [];
  const rows = await sql.query<BookedDeliveries>(RECORD, [
    logged.map(({ accountId }) => accountId),
    logged.map(({ object }) => object),
    logged.map(({ objectId }) => objectId),
    logged.map(({ event }) => event),
    told.map(() => newId()),
    told.map(({ applicationId }) => applicationId),
    told.map(({ webhook }) => webhook?.trigger),
    told.map(webhookBody),
    told.map(({ webhook }) => webhook?.dedupe),
    ahead.map(({ webhookId }) => webhookId),
    ahead.map(({ waitMs }) => waitMs),
    told.map(({ accountId }) => accountId),
    told.map(({ object }) => TOLD_WITH[object]?.join(',') ?? null),
  ]);
  for (const booked of rows) deliveryPace.note(booked);
  const waitMs = Math.min(...rows.map((booked) => booked.waitMs));
  const later = rows.length > 0 && waitMs > SOON_MS && laterWork.heard;
  if (later) afterCommit(sql, () => laterWork.tell('hook', waitMs));
  const accountIds = [...new Set(logged.map(({ accountId }) => accountId))];
  if (accountIds.length > 0) afterCommit(sql, () => changeBell.ring(accountIds));
  return rows.length > 0 && !later;
}
