import type { Sql } from '../database/sql.ts';
import { wakeAfterCommit } from '../work/signals.ts';

// Rows of several deliveries, one row here for each of their events. Such a row becomes due as a
// whole, so some of its events may be sent that were not asked for; each of them waits for its
// first attempt anyway.
const SEVERAL = `
  several as materialized (
    select id, state, unnest(event_id || more_events) as event_id from hook_job
    where webhook_id = $1 and more_events is not null)`;
const atOnce = (events: string): string => `
  at_once as (
    update hook_job set run_at = now(), give_up_at = now() + interval '76 hours', attempt = 0
    where id = any(array(select s.id from several s where s.event_id in (${events}))) and state = 0)`;
const ALREADY_QUEUED = `
    on conflict (webhook_id, event_id) do update
      set run_at = excluded.run_at, give_up_at = excluded.give_up_at, attempt = 0 where hook_job.state = 0`;

const REQUEUE = `
  with batch as materialized (
    select e.id from webhook_event e join webhook w on w.id = $1
    where e.application_id = w.application_id and e.type = any(w.triggers) and e.id > $2
      and not ($4 and exists (select 1 from webhook_attempt a
                              where a.webhook_id = w.id and a.event_id = e.id and a.outcome = 'delivered'))
    order by e.id limit $3),
  ${SEVERAL}, ${atOnce('select id from batch')},
  queued as (
    insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at)
    select gen_random_uuid(), b.id, $1, now(), now(), now() + interval '76 hours' from batch b
    where not exists (select from several s where s.event_id = b.id)
    ${ALREADY_QUEUED}
    returning 1)
  select count(*)::int as count, max(id::text) as last,
    ((select count(*) from queued)
      + (select count(*) from several where state = 0 and event_id in (select id from batch)))::int as queued
  from batch`;

const REQUEUE_BATCH = 5_000;

/** Result of one batch of a replay. */
export interface RequeuedBatch {
  /** Stored events of the batch. */
  count: number;
  /** How many of them were queued; deliveries that a worker is making are left alone. */
  queued: number;
  /** Id of the last event of the batch if there may be more; `null` if there are none. */
  last: string | null;
}

/**
 * Queues up to 5,000 stored events of the webhook's triggers, oldest first, in the caller's
 * transaction. Deliveries that are still queued become due at once and start again at attempt 1.
 * @param afterId events up to this id are left out
 * @param undeliveredOnly whether to leave out events that the receiver has confirmed
 */
export async function requeueEvents(
  sql: Sql,
  webhookId: string,
  afterId: string,
  undeliveredOnly: boolean,
): Promise<RequeuedBatch> {
  const [batch] = await sql.query<RequeuedBatch>(REQUEUE, [
    webhookId,
    afterId,
    REQUEUE_BATCH,
    undeliveredOnly,
  ]);
  wakeAfterCommit(sql, 'hook');
  const { count, queued, last } = batch ?? { count: 0, queued: 0, last: null };
  return { count, queued, last: count < REQUEUE_BATCH ? null : last };
}

/**
 * Queues all stored events of the webhook's triggers that were not delivered to it, in the caller's
 * transaction.
 * @param afterId events up to this id are left out
 */
export async function requeueUndelivered(
  sql: Sql,
  webhookId: string,
  afterId: string,
): Promise<void> {
  for (let last: string | null = afterId; last !== null;)
    ({ last } = await requeueEvents(sql, webhookId, last, true));
}

const REQUEUE_ONE = `
  with ${SEVERAL}, ${atOnce('select $2::uuid')},
  queued as (
    insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at)
    select gen_random_uuid(), e.id, w.id, now(), now(), now() + interval '76 hours'
    from webhook w join webhook_event e on e.application_id = w.application_id
    where w.id = $1 and e.id = $2 and not exists (select from several s where s.event_id = e.id)
    ${ALREADY_QUEUED}
    returning 1)
  select 1 from queued union all select 1 from several where state = 0 and event_id = $2`;

/**
 * Queues one stored event for a webhook of its application, in the caller's transaction.
 * @returns `false` if a worker is delivering it at this moment, or if it is not stored
 */
export async function requeueEvent(sql: Sql, webhookId: string, eventId: string): Promise<boolean> {
  const queued = await sql.query(REQUEUE_ONE, [webhookId, eventId]);
  wakeAfterCommit(sql, 'hook');
  return queued.length > 0;
}
