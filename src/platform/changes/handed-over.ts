import type { Sql } from '../database/sql.ts';
import { REPLAY_MS } from '../webhooks/change-webhook-state.ts';
import { filtersObjects, wants } from '../webhooks/events/matching.ts';
import type { WebhookState } from '../webhooks/webhook-state.ts';
import type { ChangeObject } from './change-log.ts';
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

const number = (status: string) => `(count(*) filter (where status = '${status}'))::int`;

// An event and the entry of its change are stored in one transaction, so they have the same time.
const LOST = `
  select c.seq, c.object, c.object_id as "objectId" from change c
  where c.account_id = $1 and c.at >= $2::date::timestamp at time zone 'UTC' and c.event_id is not null
    and c.event_id not in (
      select e.id from webhook_event e
      where e.account_id = $1 and e.created_at >= $2::date::timestamp at time zone 'UTC')
  order by c.seq`;

/** An entry of the change log whose event is not stored. */
export interface LostEvent {
  /** Number of the entry. */
  seq: number;
  object: ChangeObject;
  objectId: string;
}

/**
 * Entries of the change log that name an event which is not stored. The event was not stored if no
 * filter of a webhook matched it.
 * @param from day in UTC, as `2026-11-28`; at most seven days ago, because events are kept as long
 */
export function lostEvents(sql: Sql, accountId: string, from: string): Promise<LostEvent[]> {
  return sql.query(LOST, [accountId, from]);
}

// What filters compare is read only if a webhook filters. Ids are sorted after they were counted,
// so that PostgreSQL need not sort all events.
const FILTERED = `
  (select exists (select from webhook w where w.application_id = $1 and ${filtersObjects('w')}))`;
const EVENTS = `
  select e.id, e.seq, e.type, e.created_at as at, true as is_stored, $1::uuid as application_id, $2::uuid as account_id,
    case when ${FILTERED} then e.folders end as folders, case when ${FILTERED} then e.from_domains end as from_domains
  from webhook_event e where e.account_id = $2 and ${SINCE('e.created_at')}
  union all
  select c.event_id, null, ${triggerOf('c')}, c.at, false, $1, $2, c.folders, c.from_domains
  from change c where c.account_id = $2 and c.seq = any($5::bigint[])`;

const HANDED_OVER = `
  with hooks as materialized (
    select w.*, ${ranges('delivered')} as delivered, ${ranges('dropped')} as dropped,
      lane.from_seq as lane_from, lane.wanted_seq as lane_to, coalesce(f.published_seq, 0) as published_seq,
      (select p.seq from webhook_position p where p.webhook_id = w.id) as position
    from webhook w
      left join webhook_feed f on f.application_id = w.application_id
      left join hook_job lane on lane.webhook_id = w.id and lane.event_id = $2
    where w.application_id = $1 and w.state <> 'inactive'),
  counted as materialized (
    select r.webhook_id, r.object, r.day, count(*)::int as expected,
      ${number('handed-over')} as handed_over, ${number('waiting')} as waiting, ${number('dropped')} as dropped,
      ${number('without-event')} as without_event, ${number('unaccounted')} as unaccounted,
      array_agg(r.id) filter (where r.status not in ('handed-over', 'waiting')) as missing
    from (
      select w.id as webhook_id, split_part(e.type, '.', 1) as object, (e.at at time zone 'UTC')::date as day, e.id,
        ${STATUS} as status
      from hooks w join (${EVENTS}) e on ${wants('w', 'e')}) r
    where r.status is not null
    group by r.webhook_id, r.object, r.day)
  select w.id as "webhookId", w.callback_url as "callbackUrl", w.state, c.object, c.day::text as day, c.expected,
    c.handed_over as "handedOver", c.waiting, c.dropped, c.without_event as "withoutEvent", c.unaccounted,
    array(select m.id from unnest(c.missing) m(id) order by m.id limit $4) as "missingIds"
  from counted c join webhook w on w.id = c.webhook_id order by c.day, w.id, c.object`;

/** The account whose events are counted, with its application. */
interface EventOwner {
  applicationId: string;
  accountId: string;
}

/**
 * What became of the events of an account, for each webhook of its application that is not
 * inactive. The filters of a webhook are those of `matching.ts`, and the events are those that are
 * stored or that the change log names. Of the time before a webhook was created or activated, only
 * events are counted whose delivery succeeded or was given up.
 * @param from day in UTC, as `2026-11-28`; earlier events are left out
 * @param lost what `lostEvents` returned for the same day
 * @param limit most ids of each webhook, kind and day
 */
export function handedOver(
  sql: Sql,
  { applicationId, accountId }: EventOwner,
  from: string,
  lost: readonly LostEvent[],
  limit: number,
): Promise<HandedOver[]> {
  const entries = lost.map(({ seq }) => seq);
  return sql.query(HANDED_OVER, [applicationId, accountId, from, limit, entries]);
}
