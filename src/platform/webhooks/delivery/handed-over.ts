import type { Sql } from '../../database/sql.ts';
import { receivedDay } from '../events/created-messages.ts';
import { wants } from '../events/matching.ts';
import { isAbout } from '../events/queued-events.ts';
import type { WebhookState } from '../webhook-state.ts';

/** Kinds of objects of which the hand-over is counted, with the triggers of each. */
const TRIGGERS_OF = {
  messages: `e.type = 'message.created'`,
  events: `e.type like 'event.%'`,
  contacts: `e.type like 'contact.%'`,
} as const;
export type HandedOverKind = keyof typeof TRIGGERS_OF;

/** Results of the deliveries of one webhook, for the stored events of one day and kind. */
export interface HandedOver {
  webhookId: string;
  /** `null` for a pull webhook. */
  callbackUrl: string | null;
  state: WebhookState;
  kind: HandedOverKind;
  /** In UTC. Of messages the day on which they were received, of others that of the event. */
  day: string;
  wanted: number;
  /** Confirmed by the receiver. */
  handedOver: number;
  /** Queued, or kept until a webhook that has failed is activated. */
  waiting: number;
  /** Given up, or too old to be delivered when a webhook that has failed is activated. */
  dropped: number;
  /** Nothing is known of a delivery. */
  unaccounted: number;
  /** Ids of events that were dropped, or of whose delivery nothing is known. */
  lostIds: string[];
}

/*
 * The only place that decides whether an event was handed over. It looks each event up by index,
 * because a webhook may have millions of attempts and of queued deliveries of other accounts.
 */
const attempted = (outcome: string) => `
  exists (select 1 from webhook_attempt a where a.webhook_id = w.id and a.outcome = '${outcome}' and ${isAbout('a', 'e')})`;
// An event waits if its lane has not reached its number, or if it is not published yet.
const QUEUED = `
  (exists (select 1 from hook_job j where j.webhook_id = w.id and j.event_id = e.id)
   or exists (select 1 from hook_job j where j.webhook_id = w.id and j.event_id = e.account_id and j.from_seq < e.seq)
   or e.seq > coalesce((select f.published_seq from webhook_feed f where f.application_id = e.application_id), 0))`;
// The owner of a pull webhook has what it has acknowledged.
const STATUS = `
  case when ${attempted('delivered')} then 'handed-over'
    when w.delivery = 'pull' then case
      when e.seq <= (select p.seq from webhook_position p where p.webhook_id = w.id) then 'handed-over' else 'waiting' end
    when ${QUEUED} then 'waiting'
    when w.state = 'failed' then case when e.created_at > now() - interval '72 hours' then 'waiting' else 'dropped' end
    when ${attempted('dropped')} then 'dropped'
    else 'unaccounted' end`;

const KIND = Object.entries(TRIGGERS_OF)
  .map(([kind, condition]) => `when ${condition} then '${kind}'`)
  .join(' ');

const number = (status: string) => `(count(*) filter (where status = '${status}'))::int`;

// Materialized, so that the day of an event is read from its body once for all webhooks, and the
// result of a delivery is looked up once for all counts.
const HANDED_OVER = `
  with stored as materialized (
    select e.*, case ${KIND} end as kind,
      case when ${TRIGGERS_OF.messages} then ${receivedDay('e')} else (e.created_at at time zone 'UTC')::date end as day
    from webhook_event e
    where e.account_id = $2 and e.created_at >= $3::date::timestamp at time zone 'UTC'
      and (${Object.values(TRIGGERS_OF).join(' or ')})),
  results as materialized (
    select e.id, w.id as "webhookId", w.callback_url as "callbackUrl", w.state, e.kind, e.day, ${STATUS} as status
    from webhook w join stored e on ${wants('w', 'e')}
    where w.application_id = $1 and w.state <> 'inactive' and e.created_at >= w.subscribed_at
      and e.day between $3::date and $4::date)
  select "webhookId", "callbackUrl", state, kind, day::text as day, count(*)::int as wanted,
    ${number('handed-over')} as "handedOver", ${number('waiting')} as waiting, ${number('dropped')} as dropped,
    ${number('unaccounted')} as unaccounted,
    coalesce((array_agg(id order by id) filter (where status in ('dropped', 'unaccounted')))[:$5::int], '{}') as "lostIds"
  from results
  group by "webhookId", "callbackUrl", state, kind, day order by day, "webhookId", kind`;

/**
 * Results of the deliveries of an account's stored events, for each webhook of its application that
 * is not inactive. Events from before the webhook was created or activated are left out.
 * @param range days in UTC, as `2026-11-28`; events stored before the first one are not read
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
