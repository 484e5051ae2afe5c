import { columnsOf, type Sql } from '../../database/sql.ts';
import { writerKey } from '../../database/writer-keys.ts';
import { filtersObjects, scopesAllow, subscribes, wants } from './matching.ts';
import type { Trigger } from '../webhook-state.ts';

/** An event to send to subscribers. */
export interface WebhookEventRecord {
  id: string;
  applicationId: string;
  accountId: string;
  trigger: Trigger;
  /** JSON of a delivery of this event alone, without its numbers (`contents/deltas.ts`). */
  body: Buffer;
  /** Key that prevents storing the same event twice; unique across all events. */
  dedupe: string;
  /**
   * The event is sent only if the account has one of these scopes; `null` = the account needs no
   * scope.
   */
  scopes: readonly string[] | null;
  /** Ids of the folders or labels that the object is in, or was in before. */
  folders: readonly string[];
  /** Domains of the senders of the message. */
  fromDomains: readonly string[];
  /** Span of the event, under which it is delivered; `null` if nobody listens. */
  traceparent: string | null;
}

// `due` has the events of which a webhook subscribes to the trigger, whatever its filters. A key
// that is stored already needs no second event.
// `storing` announces the transaction to the publisher before the numbers of the events are drawn
// (`publish-events.ts`), which then queues the deliveries.
/**
 * Builds the statement for `storeEvents`.
 * @param beside common table expressions of the caller; their parameters begin at `$11`. They may
 *   read `due`: `id`, `folders` and `from_domains` of the events to whose trigger a webhook
 *   subscribes, and `filtered`, whether such a webhook filters by folders or domains
 */
export const withEvents = (beside: string): string => `
  with storing as materialized (
    select pg_advisory_xact_lock_shared(${writerKey('a.id', 'webhook_event_seq_seq')})
    from (select distinct id from unnest($2::uuid[]) o(id)) a),
  due as materialized (
    select h.*, s.filtered
    from (select x.*, string_to_array(given_folders, ',')::uuid[] as folders, string_to_array(given_domains, ',') as from_domains
          from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::text[], $6::uuid[], $7::text[], $8::text[], $9::text[], $10::text[])
            x(id, application_id, type, body, dedupe, account_id, scopes, traceparent, given_folders, given_domains)) h
      cross join lateral (
        select bool_or(${filtersObjects('w')}) as filtered from webhook w
        where w.state <> 'inactive' and ${subscribes('w', 'h')}) s
    where s.filtered is not null and ${scopesAllow('h.account_id', 'h.scopes')}
      and not exists (select from webhook_event e where e.dedupe = h.dedupe)),
  ${beside},
  stored as (
    insert into webhook_event (id, application_id, account_id, type, body, dedupe, traceparent, folders, from_domains)
    select h.id, h.application_id, h.account_id, h.type, h.body, h.dedupe, h.traceparent, h.folders, h.from_domains
    from (select count(*) from storing) announced, due h
    where exists (select 1 from webhook w where w.state <> 'inactive' and ${wants('w', 'h')})
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
    events.map(({ folders }) => listOf(folders)),
    events.map(({ fromDomains }) => listOf(fromDomains)),
    ...values,
  ]);
  return row?.stored ?? false;
}

/** A list as `string_to_array` reads it; `null` if it is empty. */
function listOf(values: readonly string[]): string | null {
  return values.length === 0 ? null : values.join(',');
}
