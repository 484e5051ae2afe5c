import type { Sql } from '../../database/sql.ts';
import { wakeAfterCommit } from '../../work/signals.ts';
import { ROW_WAITING } from '../../work/queue/row-state.ts';
import { wants } from './matching.ts';
import { isAbout, isDelivered, queuedEvents } from './queued-events.ts';

/**
 * Makes the queued deliveries of `wanted` events due at once, and queues the others, as replays if
 * the SQL expression `isReplay` is true. Deliveries that were queued already stay what they are.
 * Rows are locked in the order of their ids (docs/adr/0004). With `on conflict do update`,
 * PostgreSQL would lock them in the order of their events. It would also lock rows that a worker
 * has claimed. A lane becomes due as a whole.
 */
const queuedAtOnce = (isReplay: string): string => `
  known as materialized (
    select q.row_id as id, q.event_id from ${queuedEvents('$1')} q where q.event_id in (select id from wanted)),
  waiting as materialized (
    select id from hook_job where id in (select id from known) and state = ${ROW_WAITING} order by id for update),
  at_once as (
    update hook_job set run_at = now(), give_up_at = now() + interval '76 hours', attempt = 0
    where id = any(array(select id from waiting))),
  queued as (
    insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at, replay)
    select gen_random_uuid(), id, $1, now(), now(), now() + interval '76 hours', ${isReplay} from wanted
    where id not in (select event_id from known)
    on conflict (webhook_id, event_id) do nothing
    returning event_id),
  all_queued as (
    select event_id from queued
    union all select event_id from known where id in (select id from waiting))`;

const REQUEUE = `
  with wanted as materialized (
    select e.id from webhook_event e join webhook w on w.id = $1
    where ${wants('w', 'e')} and e.id > $2 and not ($4 and ${isDelivered('w', 'e')}) and ($5 or e.account_id is null)
      and ($6::uuid is null or e.id < $6)
      and (not $7 or exists (select from webhook_attempt a where a.webhook_id = w.id and ${isAbout('a', 'e')}))
    order by e.id limit $3),
  ${queuedAtOnce('$5')}
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
 * Queues up to 5,000 stored events that the webhook wants, oldest first, in the caller's
 * transaction. Deliveries that are still queued become due at once and start again at attempt 1.
 * @param afterId events up to this id are left out
 */
export function requeueEvents(
  sql: Sql,
  webhookId: string,
  afterId: string,
  { undeliveredOnly, attemptedOnly = false, untilId = null }: EventSelection,
): Promise<RequeuedBatch> {
  const values = [webhookId, afterId, REQUEUE_BATCH, undeliveredOnly, true, untilId, attemptedOnly];
  return requeue(sql, values);
}

async function requeue(sql: Sql, values: readonly unknown[]): Promise<RequeuedBatch> {
  const [batch] = await sql.query<RequeuedBatch>(REQUEUE, values);
  wakeAfterCommit(sql, 'hook');
  const { count, queued, last } = batch ?? { count: 0, queued: 0, last: null };
  return { count, queued, last: count < REQUEUE_BATCH ? null : last };
}

/**
 * Queues undelivered events without a lane, in the caller's transaction. Releases before lanes
 * stored such events.
 * @param afterId events up to this id are left out
 */
export async function requeueWithoutLane(
  sql: Sql,
  webhookId: string,
  afterId: string,
): Promise<void> {
  for (let last: string | null = afterId; last !== null;)
    ({ last } = await requeue(sql, [webhookId, last, REQUEUE_BATCH, true, false, null, false]));
}

const REQUEUE_ONE = `
  with wanted as materialized (
    select e.id from webhook w join webhook_event e on e.application_id = w.application_id
    where w.id = $1 and e.id = $2),
  ${queuedAtOnce('true')}
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
