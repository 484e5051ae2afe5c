import { columnsOf, type Sql } from '../../database/sql.ts';
import { writerKey } from '../../database/writer-keys.ts';
import { wants } from './matching.ts';
import type { Trigger } from '../webhook-state.ts';

/** An event to send to subscribers. */
export interface WebhookEventRecord {
  id: string;
  applicationId: string;
  accountId: string;
  trigger: Trigger;
  /** JSON of a delivery of this event alone, without its numbers (`delivery/deltas.ts`). */
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

// `storing` announces the transaction to the publisher before the numbers of the events are drawn
// (`publish-events.ts`), which then queues the deliveries.
/**
 * Builds the statement for `storeEvents`.
 * @param beside common table expressions of the caller; their parameters begin at `$9`
 */
export const withEvents = (beside: string): string => `
  with ${beside},
  storing as materialized (
    select pg_advisory_xact_lock_shared(${writerKey('a.id', 'webhook_event_seq_seq')})
    from (select distinct id from unnest($2::uuid[]) o(id)) a),
  stored as (
    insert into webhook_event (id, application_id, account_id, type, body, dedupe, traceparent)
    select h.id, h.application_id, h.account_id, h.type, h.body, h.dedupe, h.traceparent
    from (select count(*) from storing) announced,
      unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::text[], $6::uuid[], $7::text[], $8::text[])
      h(id, application_id, type, body, dedupe, account_id, scopes, traceparent)
    where exists (select 1 from webhook w where w.state <> 'inactive' and ${wants('w', 'h')})
      and (h.scopes is null or not exists (
        select 1 from "grant" g left join integration i on i.id = g.integration_id
        where g.id = h.account_id
          and not (coalesce(coalesce(g.scope, i.scope) && string_to_array(h.scopes, ','), true)
                   and coalesce(g.granted_scope && string_to_array(h.scopes, ','), true))))
    on conflict (dedupe) do nothing
    returning 1)
  select exists (select from stored) as stored`;

/**
 * Stores events that have a subscriber. Runs in the caller's transaction, in one round trip with
 * the caller's own writes. After the commit the queue `hook` has to be woken.
 * @param text statement from `withEvents`
 * @param values values of the caller's parameters
 * @returns whether an event was stored
 */
export async function storeEvents(
  sql: Sql,
  text: string,
  events: readonly WebhookEventRecord[],
  values: readonly unknown[],
): Promise<boolean> {
  const [row] = await sql.query<{ stored: boolean }>(text, [
    ...columnsOf(events, 'id', 'applicationId', 'trigger', 'body', 'dedupe', 'accountId'),
    events.map(({ scopes }) => scopes?.join(',') ?? null),
    events.map(({ traceparent }) => traceparent),
    ...values,
  ]);
  return row?.stored ?? false;
}
