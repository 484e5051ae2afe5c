import type { Sql } from '../../database/sql.ts';
import { ROW_WAITING } from '../../work/queue/row-state.ts';
import { wants } from '../events/matching.ts';
import { isAbout, isDelivered, queuedEvents } from '../events/queued-events.ts';
import type { EventSelection } from '../events/requeue-events.ts';
import type { Webhook } from '../webhook.entity.ts';
import type { WebhookEvent } from '../events/webhook-event.entity.ts';
import type { RowOf } from '../../database/rows/row-of.ts';

/** What a replay needs to know of a webhook. */
export type ReplayTarget = RowOf<
  Webhook,
  'id' | 'applicationId' | 'callbackUrl' | 'state' | 'subscribedAt'
>;

const TARGET = `
  select id, application_id as "applicationId", callback_url as "callbackUrl", state, subscribed_at as "subscribedAt"
  from webhook where id = $1`;

/** `undefined` if there is no such webhook. */
export async function readTarget(sql: Sql, id: string): Promise<ReplayTarget | undefined> {
  return (await sql.query<ReplayTarget>(TARGET, [id]))[0];
}

const REPLAYABLE = `
  select count(*)::int as matched, count(*) filter (where running)::int as running
  from (
    select coalesce(q.state <> ${ROW_WAITING}, false) as running
    from webhook w join webhook_event e on ${wants('w', 'e')}
    left join ${queuedEvents('$1')} q on q.event_id = e.id
    where w.id = $1 and e.id > $2 and ($4::uuid is null or e.id < $4)
      and not ($3 and ${isDelivered('w', 'e')})
      and (not $5 or exists (select from webhook_attempt a where a.webhook_id = w.id and ${isAbout('a', 'e')}))
    limit $6) e`;

/**
 * Counts the stored events that a replay concerns (`matched`), and how many of them a worker is
 * sending now (`running`).
 * @param most counts no further; `null` for no limit
 */
export async function countReplayable(
  sql: Sql,
  webhookId: string,
  afterId: string,
  { undeliveredOnly, untilId = null, attemptedOnly = false }: EventSelection,
  most: number | null = null,
): Promise<{ matched: number; running: number }> {
  const values = [webhookId, afterId, undeliveredOnly, untilId, attemptedOnly, most];
  const [row] = await sql.query<{ matched: number; running: number }>(REPLAYABLE, values);
  return row ?? { matched: 0, running: 0 };
}

const STORED = `
  select e.type, coalesce(q.state <> ${ROW_WAITING}, false) as running from webhook w
  join webhook_event e on e.application_id = w.application_id
  left join ${queuedEvents('$1')} q on q.event_id = e.id
  where w.id = $1 and e.id = $2`;

/** `undefined` if the event is not stored, or is not one of the webhook's application. */
export async function readStoredEvent(
  sql: Sql,
  webhookId: string,
  eventId: string,
): Promise<{ type: string; running: boolean } | undefined> {
  return (
    await sql.query<RowOf<WebhookEvent, 'type'> & { running: boolean }>(STORED, [
      webhookId,
      eventId,
    ])
  )[0];
}
