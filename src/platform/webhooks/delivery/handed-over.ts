import type { Sql } from '../../database/sql.ts';
import { receivedDay } from '../events/created-messages.ts';
import { wants } from '../events/matching.ts';
import type { WebhookState } from '../webhook-state.ts';

/** Kinds of objects of which the hand-over is counted, with the triggers of each. */
const TRIGGERS_OF = {
  messages: `e.type = 'message.created'`,
  events: `e.type like 'event.%'`,
  contacts: `e.type like 'contact.%'`,
} as const;
export type HandedOverKind = keyof typeof TRIGGERS_OF;

/** What became of the stored events of one day, of one kind, that one webhook wants. */
export interface HandedOver {
  webhookId: string;
  callbackUrl: string;
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
 * The only place that decides what became of an event. Index look-ups for each event: a webhook may
 * have millions of attempts and of queued deliveries of other accounts.
 */
const attempted = (outcome: string) => `
  exists (select 1 from webhook_attempt a where a.event_id = e.id and a.webhook_id = w.id and a.outcome = '${outcome}')`;
const QUEUED = `
  (exists (select 1 from hook_job j where j.webhook_id = w.id and j.event_id = e.id)
   or exists (select 1 from hook_job j where j.webhook_id = w.id and j.more_events is not null and j.event_id <= e.id
              and e.id = any(j.more_events)))`;
const STATUS = `
  case when ${attempted('delivered')} then 'handed-over'
    when ${QUEUED} then 'waiting'
    when w.state = 'failed' then case when e.created_at > now() - interval '72 hours' then 'waiting' else 'dropped' end
    when ${attempted('dropped')} then 'dropped'
    else 'unaccounted' end`;

const KIND = Object.entries(TRIGGERS_OF)
  .map(([kind, condition]) => `when ${condition} then '${kind}'`)
  .join(' ');

const number = (status: string) => `(count(*) filter (where status = '${status}'))::int`;

const HANDED_OVER = `
  select "webhookId", "callbackUrl", state, kind, day::text as day, count(*)::int as wanted,
    ${number('handed-over')} as "handedOver", ${number('waiting')} as waiting, ${number('dropped')} as dropped,
    ${number('unaccounted')} as unaccounted,
    coalesce((array_agg(id order by id) filter (where status in ('dropped', 'unaccounted')))[:$5::int], '{}') as "lostIds"
  from (
    select e.id, w.id as "webhookId", w.callback_url as "callbackUrl", w.state, case ${KIND} end as kind,
      case when ${TRIGGERS_OF.messages} then ${receivedDay('e')} else (e.created_at at time zone 'UTC')::date end as day,
      ${STATUS} as status
    from webhook w join webhook_event e on ${wants('w', 'e')}
    where w.application_id = $1 and w.state <> 'inactive' and e.account_id = $2
      and e.created_at >= greatest(w.subscribed_at, $3::date::timestamp at time zone 'UTC')
      and (${Object.values(TRIGGERS_OF).join(' or ')})) x
  where day between $3::date and $4::date
  group by "webhookId", "callbackUrl", state, kind, day order by day, "webhookId", kind`;

/**
 * What became of the stored events of an account, for each webhook of its application that is not
 * inactive. Events from before the webhook was created or activated are left out.
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
