import { columnsOf, type Sql } from '../../database/sql.ts';
import { type BookedDeliveries, deliveryPace } from './delivery-pace.ts';
import { writerKey } from '../../database/writer-keys.ts';
import { wants } from '../events/matching.ts';
import type { Trigger } from '../webhook-state.ts';

/** An event to send to subscribers. */
export interface WebhookEventRecord {
  id: string;
  applicationId: string;
  accountId: string;
  trigger: Trigger;
  /** The exact bytes of a delivery. */
  body: Buffer;
  /** Key that prevents storing the same event twice; unique across all events. */
  dedupe: string;
  /**
   * The event is sent only if the account has one of these scopes; `null` = the account needs no
   * scope.
   */
  scopes: readonly string[] | null;
  /** Span of the event, under which it is delivered; `null` if nobody listens. */
  traceparent: string | null;
}

/** How many deliveries to a webhook share a queue row, if they are queued together. */
const MOST_OF_ROW = 16;

// Deliveries become due at the pace of their webhook. If all were due at once, most would have
// to be deferred one by one. If the webhook is deleted at the same time, its deliveries are dropped
// later. Events of different traces do not share a row, because a row belongs to one trace. The key
// of a webhook's rate gate is the webhook's id, although the column is `account_id`. `storing`
// announces the transaction to the publisher before the numbers of the events are drawn
// (`events/publish-events.ts`).
/**
 * Builds the statement for `queueDeliveries`.
 * @param beside common table expressions of the caller; their parameters begin at `$11`
 */
export const withDeliveries = (beside: string): string => `
  with ${beside},
  storing as materialized (
    select pg_advisory_xact_lock_shared(${writerKey('a.id', 'webhook_event_seq_seq')})
    from (select distinct id from unnest($2::uuid[]) o(id)) a),
  stored as (
    insert into webhook_event (id, application_id, account_id, type, body, dedupe)
    select h.id, h.application_id, h.account_id, h.type, h.body, h.dedupe
    from (select count(*) from storing) announced,
      unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::text[], $6::uuid[], $7::text[])
      h(id, application_id, type, body, dedupe, account_id, scopes)
    where exists (select 1 from webhook w where w.state <> 'inactive' and ${wants('w', 'h')})
      and (h.scopes is null or not exists (
        select 1 from "grant" g left join integration i on i.id = g.integration_id
        where g.id = h.account_id
          and not (coalesce(coalesce(g.scope, i.scope) && string_to_array(h.scopes, ','), true)
                   and coalesce(g.granted_scope && string_to_array(h.scopes, ','), true))))
    on conflict (dedupe) do nothing
    returning id, application_id, account_id, type),
  due as (
    select t.id as event_id, w.id as webhook_id, coalesce(g.slot_ms, 50) as slot_ms,
      greatest(now(), g.next_slot, now() + p.wait_ms * interval '1 ms') as begins_at,
      row_number() over (partition by w.id order by t.id) - 1 as place,
      ($10::text[])[array_position($1::uuid[], t.id)] as traceparent
    from stored t join webhook w on w.delivery = 'push' and w.state in ('active', 'failing') and ${wants('w', 't')}
    left join account_gate g on g.account_id = w.id
    left join unnest($8::uuid[], $9::float8[]) p(webhook_id, wait_ms) on p.webhook_id = w.id),
  hook_row as (
    select webhook_id, slot_ms, traceparent, array_agg(event_id order by event_id) as events,
      min(begins_at + place * slot_ms * interval '1 ms') as run_at
    from due group by webhook_id, slot_ms, traceparent, place / ${MOST_OF_ROW}),
  queued as (
    insert into hook_job (id, event_id, more_events, webhook_id, run_at, due_at, give_up_at, traceparent)
    select gen_random_uuid(), events[1], nullif(events[2:], '{}'), webhook_id, run_at, now(), now() + interval '76 hours', traceparent
    from hook_row)
  select webhook_id as "webhookId", sum(cardinality(events))::int * slot_ms as "tookMs",
    (extract(epoch from min(run_at) - now()) * 1000)::float8 as "waitMs"
  from hook_row group by webhook_id, slot_ms`;

/**
 * Stores events that have a subscriber and queues their deliveries. Runs in the caller's
 * transaction, in one round trip with the caller's own writes.
 * @param text statement from `withDeliveries`
 * @param values values of the caller's parameters
 * @returns milliseconds until the first delivery is due; `null` if none was queued
 */
export async function queueDeliveries(
  sql: Sql,
  text: string,
  events: readonly WebhookEventRecord[],
  values: readonly unknown[],
): Promise<number | null> {
  const ahead = events.length > 0 ? deliveryPace.ahead() : [];
  const rows = await sql.query<BookedDeliveries>(text, [
    ...columnsOf(events, 'id', 'applicationId', 'trigger', 'body', 'dedupe', 'accountId'),
    events.map(({ scopes }) => scopes?.join(',') ?? null),
    ahead.map(({ webhookId }) => webhookId),
    ahead.map(({ waitMs }) => waitMs),
    // Without traces, the statement looks for none.
    events.some(({ traceparent }) => traceparent)
      ? events.map(({ traceparent }) => traceparent)
      : null,
    ...values,
  ]);
  for (const booked of rows) deliveryPace.note(booked);
  return rows.length === 0 ? null : Math.min(...rows.map(({ waitMs }) => waitMs));
}
