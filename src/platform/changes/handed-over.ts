import type { Sql } from '../database/sql.ts';
import { REPLAY_MS } from '../webhooks/change-webhook-state.ts';
import { wants } from '../webhooks/events/matching.ts';
import type { WebhookState } from '../webhooks/webhook-state.ts';
import { triggerOf } from './usual-webhooks.ts';

/** What became of the events that one webhook wants, for one day and kind of object. */
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

/*
 * The only place that decides whether an event was handed over. A batch is one attempt with a range
 * of numbers, so the ranges of a webhook are collected once and compared with each event. Attempts
 * for one event are looked up by index, and only if no range has the event.
 */
const ranges = (outcome: string) => `
  (select range_agg(int8range(a.first_seq, a.last_seq, '[]')) from webhook_attempt a
   where a.account_id = $2 and a.deltas > 1 and a.webhook_id = w.id and a.outcome = '${outcome}'
     and a.last_seq >= (select min(seq) from stored))`;
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

const number = (status: string) => `(count(*) filter (where status = '${status}'))::int`;

const IN_RANGE = (at: string) => `
  ${at} >= $3::date::timestamp at time zone 'UTC' and ${at} < ($4::date + 1)::timestamp at time zone 'UTC'`;

// An event and the entry of its change are stored in one transaction, so they have the same time.
// Materialized, so that each result is decided once for all counts.
const HANDED_OVER = `
  with stored as materialized (
    select e.id, e.seq, e.application_id, e.account_id, e.type, e.folders, e.from_domains, e.created_at as at
    from webhook_event e where e.account_id = $2 and ${IN_RANGE('e.created_at')}),
  lost as materialized (
    select c.event_id as id, null::bigint as seq, $1::uuid as application_id, c.account_id, ${triggerOf('c')} as type,
      c.folders, c.from_domains, c.at
    from change c left join stored s on s.id = c.event_id
    where c.account_id = $2 and ${IN_RANGE('c.at')} and c.event_id is not null and s.id is null),
  events as (
    select s.*, true as is_stored from stored s union all select l.*, false from lost l),
  hooks as materialized (
    select w.*, ${ranges('delivered')} as delivered, ${ranges('dropped')} as dropped,
      lane.from_seq as lane_from, lane.wanted_seq as lane_to, coalesce(f.published_seq, 0) as published_seq,
      (select p.seq from webhook_position p where p.webhook_id = w.id) as position
    from webhook w
      left join webhook_feed f on f.application_id = w.application_id
      left join hook_job lane on lane.webhook_id = w.id and lane.event_id = $2
    where w.application_id = $1 and w.state <> 'inactive'),
  results as materialized (
    select e.id, w.id as "webhookId", w.callback_url as "callbackUrl", w.state, split_part(e.type, '.', 1) as object,
      (e.at at time zone 'UTC')::date as day, ${STATUS} as status
    from hooks w join events e on ${wants('w', 'e')})
  select "webhookId", "callbackUrl", state, object, day::text as day, count(*)::int as expected,
    ${number('handed-over')} as "handedOver", ${number('waiting')} as waiting, ${number('dropped')} as dropped,
    ${number('without-event')} as "withoutEvent", ${number('unaccounted')} as unaccounted,
    coalesce((array_agg(id order by id) filter (where status not in ('handed-over', 'waiting')))[:$5::int], '{}')
      as "missingIds"
  from results where status is not null
  group by "webhookId", "callbackUrl", state, object, day order by day, "webhookId", object`;

/**
 * What became of the events of an account, for each webhook of its application that is not
 * inactive. The filters of a webhook are those of `matching.ts`, and the events are those that are
 * stored or that the change log names. Of the time before a webhook was created or activated, only
 * events are counted whose delivery succeeded or was given up.
 * @param range days in UTC, as `2026-11-28`
 * @param limit most ids of each webhook, kind and day
 */
export function handedOver(
  sql: Sql,
  { applicationId, accountId }: { applicationId: string; accountId: string },
  { from, to }: { from: string; to: string },
  limit: number,
): Promise<HandedOver[]> {
  return sql.query(HANDED_OVER, [applicationId, accountId, from, to, limit]);
}
