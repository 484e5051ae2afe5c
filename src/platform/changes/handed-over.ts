import type { Sql } from '../database/sql.ts';
import { REPLAY_MS } from '../webhooks/change-webhook-state.ts';
import { filtersObjects, wants } from '../webhooks/events/matching.ts';
import type { WebhookState } from '../webhooks/webhook-state.ts';
import { triggerOf } from './usual-webhooks.ts';

/** The deliveries of the events that one webhook wants, for one day and kind of object. */
export interface HandedOver {
  webhookId: string;
  /** `null` for a pull webhook. */
  callbackUrl: string | null;
  state: WebhookState;
  /** The first part of the triggers, such as `message` of `message.created`. */
  object: string;
  /** Day of the change, in UTC, as `2026-11-28`. */
  day: string;
  /** Events that the webhook has to get: the sum of the numbers below. */
  expected: number;
  /** Confirmed by the receiver. */
  handedOver: number;
  /** Queued, or kept until a webhook that has failed is activated. */
  waiting: number;
  /** Given up, or too old to be delivered when a webhook that has failed is activated. */
  dropped: number;
  /** The change log names them, and they are not stored. */
  withoutEvent: number;
  /** They are stored, and nothing is known of a delivery. */
  unaccounted: number;
  /** Ids of events that were dropped, are not stored, or of whose delivery nothing is known. */
  missingIds: string[];
}

const SINCE = (at: string) => `${at} >= $3::date::timestamp at time zone 'UTC'`;

/*
 * The only place that decides whether an event was handed over. A batch is one attempt with a range
 * of numbers, so the ranges of a webhook are collected once and compared with each event. Attempts
 * for one event are looked up by index, and only if no range has the event.
 */
const ranges = (outcome: string) => `
  (select range_agg(int8range(a.first_seq, a.last_seq, '[]')) from webhook_attempt a
   where a.account_id = $2 and a.deltas > 1 and a.webhook_id = w.id and a.outcome = '${outcome}'
     and ${SINCE('a.started_at')})`;
const attempted = (outcome: string, column: string) => `
  (coalesce(w.${column} @> e.seq, false)
   or exists (select from webhook_attempt a where a.event_id = e.id and a.webhook_id = w.id and a.outcome = '${outcome}'))`;
// An event waits if its lane has not reached its number, or if it is not published yet.
const QUEUED = `
  (e.seq > w.lane_from and e.seq <= w.lane_to or e.seq > w.published_seq
   or exists (select from hook_job j where j.webhook_id = w.id and j.event_id = e.id))`;
// Before its subscription began or was renewed, a webhook may have been inactive. Only what was
// delivered or given up shows that it was not. The owner of a pull webhook has what it has
// acknowledged.
const STATUS = `
  case when ${attempted('delivered', 'delivered')} then 'handed-over'
    when e.at < w.subscribed_at then case when ${attempted('dropped', 'dropped')} then 'dropped' end
    when not e.is_stored then 'without-event'
    when w.delivery = 'pull' then case when e.seq <= w.position then 'handed-over' else 'waiting' end
    when ${QUEUED} then 'waiting'
    when w.state = 'failed' then
      case when e.at > now() - interval '${REPLAY_MS} milliseconds' then 'waiting' else 'dropped' end
    when ${attempted('dropped', 'dropped')} then 'dropped'
    else 'unaccounted' end`;

const number = (status: string) => `
  coalesce(sum(c.count) filter (where c.status = '${status}'), 0)::int`;

// What filters compare is read only if a webhook filters. An event is stored in the transaction of
// its change, and never dated before it. `offset 0` keeps PostgreSQL from deciding the status again
// for each count. Ids are sorted after all events were counted.
const FILTERED = `
  (select exists (select from webhook w where w.application_id = $1 and ${filtersObjects('w')}))`;
const HANDED_OVER = `
  with stored as materialized (
    select e.id, e.seq, e.type, e.created_at as at,
      case when ${FILTERED} then e.folders end as folders, case when ${FILTERED} then e.from_domains end as from_domains
    from webhook_event e where e.account_id = $2 and ${SINCE('e.created_at')}),
  lost as materialized (
    select c.* from change c left join stored s on s.id = c.event_id
    where c.account_id = $2 and ${SINCE('c.at')} and c.event_id is not null and s.id is null),
  events as (
    select id, seq, type, at, folders, from_domains, true as is_stored, null::bigint as entry,
      $1::uuid as application_id, $2::uuid as account_id
    from stored
    union all
    select l.event_id, null, ${triggerOf('l')}, l.at, l.folders, l.from_domains, false, l.seq, $1, $2 from lost l),
  hooks as materialized (
    select w.*, ${ranges('delivered')} as delivered, ${ranges('dropped')} as dropped,
      lane.from_seq as lane_from, lane.wanted_seq as lane_to, coalesce(f.published_seq, 0) as published_seq,
      (select p.seq from webhook_position p where p.webhook_id = w.id) as position
    from webhook w
      left join webhook_feed f on f.application_id = w.application_id
      left join hook_job lane on lane.webhook_id = w.id and lane.event_id = $2
    where w.application_id = $1 and w.state <> 'inactive'),
  counted as materialized (
    select r.webhook_id, r.object, r.day, r.status, count(*)::int as count,
      array_agg(r.id) filter (where r.status not in ('handed-over', 'waiting')) as missing,
      array_agg(r.entry) filter (where r.status = 'without-event' and r.type = 'message.created') as entries
    from (
      select w.id as webhook_id, e.type, split_part(e.type, '.', 1) as object,
        (e.at at time zone 'UTC')::date as day, e.id, e.entry, ${STATUS} as status
      from hooks w join events e on ${wants('w', 'e')} offset 0) r
    where r.status is not null
    group by r.webhook_id, r.object, r.day, r.status),
  deliveries as (
    select w.id as "webhookId", w.callback_url as "callbackUrl", w.state, c.object, c.day::text as day,
      sum(c.count)::int as expected,
      ${number('handed-over')} as "handedOver", ${number('waiting')} as waiting, ${number('dropped')} as dropped,
      ${number('without-event')} as "withoutEvent", ${number('unaccounted')} as unaccounted,
      array(select m.id from counted o cross join unnest(o.missing) m(id)
            where o.webhook_id = w.id and o.day = c.day and o.object = c.object
            order by m.id limit $4) as "missingIds"
    from counted c join hooks w on w.id = c.webhook_id
    group by w.id, w.callback_url, w.state, c.object, c.day
    order by c.day, w.id, c.object)
  select coalesce((select json_agg(d) from deliveries d), '[]') as deliveries,
    coalesce((select json_agg(distinct n.entry) from counted c cross join unnest(c.entries) n(entry)), '[]')
      as "lostMessages"`;

/** Deliveries of the events of an account, and events that are not stored. */
export interface EventsOfAccount {
  deliveries: HandedOver[];
  /**
   * Numbers of the entries of the change log about new messages whose event a webhook wants, and
   * that is not stored.
   */
  lostMessages: number[];
}

/**
 * The results of the deliveries of an account's events, for each webhook of its application that
 * is not inactive. The filters of a webhook are those of `matching.ts`, and the events are those
 * that are stored or that the change log names. Of the time before a webhook was created or
 * activated, only events are counted whose delivery succeeded or was given up.
 * @param from day in UTC, as `2026-11-28`; earlier events are left out. At most seven days ago,
 *   because events are kept as long
 * @param limit most ids of each webhook, kind and day
 */
export async function handedOver(
  sql: Sql,
  { applicationId, accountId }: { applicationId: string; accountId: string },
  from: string,
  limit: number,
): Promise<EventsOfAccount> {
  const values = [applicationId, accountId, from, limit];
  const [row] = await sql.query<EventsOfAccount>(HANDED_OVER, values);
  return row ?? { deliveries: [], lostMessages: [] };
}
