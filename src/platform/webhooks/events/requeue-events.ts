import type { Sql } from '../../database/sql.ts';
import { wakeAfterCommit } from '../../work/signals.ts';
import { ROW_WAITING } from '../../work/queue/row-state.ts';

// A row may have several deliveries. It becomes due as a whole, so some of its events may be sent
// that were not asked for; each of them waits for its first attempt anyway.
/**
 * Makes the queued deliveries of `wanted` events due at once, and queues the others. Rows are
 * locked in the order of their ids (docs/adr/0004). With `on conflict do update`, PostgreSQL would
 * lock them in the order of their events. It would also lock rows that a worker has claimed.
 */
const QUEUED_AT_ONCE = `
  known as materialized (
    select id, event_id from hook_job where webhook_id = $1 and event_id in (select id from wanted)
    union all
    select j.id, k.event_id from hook_job j cross join lateral unnest(j.more_events) k(event_id)
    where j.webhook_id = $1 and j.more_events is not null and k.event_id in (select id from wanted)),
  waiting as materialized (
    select id from hook_job where id in (select id from known) and state = ${ROW_WAITING} order by id for update),
  at_once as (
    update hook_job set run_at = now(), give_up_at = now() + interval '76 hours', attempt = 0
    where id = any(array(select id from waiting))),
  queued as (
    insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at)
    select gen_random_uuid(), id, $1, now(), now(), now() + interval '76 hours' from wanted
    where id not in (select event_id from known)
    on conflict (webhook_id, event_id) do nothing
    returning event_id),
  all_queued as (
    select event_id from queued
    union all select event_id from known where id in (select id from waiting))`;

const REQUEUE = `
  with wanted as materialized (
    select e.id from webhook_event e join webhook w on w.id = $1
    where e.application_id = w.application_id and e.type = any(w.triggers) and e.id > $2
      and not ($4 and exists (select 1 from webhook_attempt a
                              where a.webhook_id = w.id and a.event_id = e.id and a.outcome = 'delivered'))
      and ($5::uuid is null or e.id < $5)
      and (not $6 or exists (select 1 from webhook_attempt a where a.webhook_id = w.id and a.event_id = e.id))
    order by e.id limit $3),
  ${QUEUED_AT_ONCE}
  select count(*)::int as count, max(id::text) as last, (select count(*) from all_queued)::int as queued
  from wanted`;

const REQUEUE_BATCH = 5_000;

/** Which stored events to queue. */
export interface EventSelection {
  /** Whether to leave out events that the receiver has confirmed. */
  undeliveredOnly: boolean;
  /** Whether to leave out events whose delivery was never tried. Default: false. */
  attemptedOnly?: boolean;
  /** Events from this id on are left out; `null` or absent: no limit. */
  untilId?: string | null;
}

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
 */
export async function requeueEvents(
  sql: Sql,
  webhookId: string,
  afterId: string,
  { undeliveredOnly, attemptedOnly = false, untilId = null }: EventSelection,
): Promise<RequeuedBatch> {
  const [batch] = await sql.query<RequeuedBatch>(REQUEUE, [
    webhookId,
    afterId,
    REQUEUE_BATCH,
    undeliveredOnly,
    untilId,
    attemptedOnly,
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
    ({ last } = await requeueEvents(sql, webhookId, last, { undeliveredOnly: true }));
}

const REQUEUE_ONE = `
  with wanted as materialized (
    select e.id from webhook w join webhook_event e on e.application_id = w.application_id
    where w.id = $1 and e.id = $2),
  ${QUEUED_AT_ONCE}
  select 1 from all_queued`;

/**
 * Queues one stored event for a webhook of its application, in the caller's transaction.
 * @returns `false` if a worker is delivering it at this moment, or if it is not stored
 */
export async function requeueEvent(sql: Sql, webhookId: string, eventId: string): Promise<boolean> {
  const queued = await sql.query(REQUEUE_ONE, [webhookId, eventId]);
  wakeAfterCommit(sql, 'hook');
  return queued.length > 0;
}
