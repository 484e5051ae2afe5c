import { columnsOf, type Sql } from '../../database/sql.ts';
import { wakeAfterCommit } from '../../work/signals.ts';
import { ROW_WAITING } from '../../work/queue/row-state.ts';
import { wants } from '../events/matching.ts';
import type { RowChange } from './delivery-results.ts';

/*
 * A lane is a row of `hook_job`: the deliveries of the events of one account to one webhook, made
 * in order, one request at a time (docs/adr/0155). `publish-events.ts` begins and extends lanes.
 */

// For the trigger `hook_job_keeps_lane`.
const END_LANES = `select set_config('carillon.hook_job', 'lanes', true)`;

/**
 * Call it in a transaction before it deletes lanes. If a process of the release before deletes one,
 * a trigger queues the events of the lane one by one.
 */
export async function endLanes(sql: Sql): Promise<void> {
  await sql.query(END_LANES);
}

// A lane that goes on makes a new promise, and belongs to the trace of its next event.
const CHANGE = `
  update hook_job j
  set from_seq = coalesce(x.from_seq, j.from_seq), batch_seq = x.batch_seq, attempt = x.attempt,
    due_at = case when x.from_seq is null then j.due_at else now() end,
    traceparent = case when x.from_seq is null then j.traceparent else (
      select e.traceparent from webhook w join webhook_event e on ${wants('w', 'e')}
      where w.id = j.webhook_id and e.account_id = j.event_id and e.seq > x.from_seq and e.seq <= j.wanted_seq
      order by e.seq limit 1) end
  from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::smallint[]) x(id, from_seq, batch_seq, attempt)
  where j.id = x.id`;

/** Changes rows that the caller's transaction has settled. */
export async function changeRows(
  sql: Sql,
  changes: readonly (RowChange & { id: string })[],
): Promise<void> {
  if (changes.length === 0) return;
  await sql.query(CHANGE, columnsOf(changes, 'id', 'fromSeq', 'batchSeq', 'attempt'));
}

// From `batch_seq - 1` to `batch_seq` there is only this event.
const ISOLATE = `
  update hook_job j set (from_seq, batch_seq) = (
    select coalesce(min(e.seq) - 1, j.from_seq), min(e.seq) from webhook w join webhook_event e on ${wants('w', 'e')}
    where w.id = j.webhook_id and e.account_id = j.event_id and e.seq > j.from_seq and e.seq <= j.wanted_seq)
  where j.id = any($1::uuid[])`;

/** Makes the next event of each of these lanes a batch of its own. */
export async function isolateFirst(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.query(ISOLATE, [ids]);
}

/** An event that is delivered apart from its lane. */
export interface SetAside {
  webhookId: string;
  accountId: string;
  seq: number;
  /** When its next attempt is due. */
  runAt: Date;
  /** How many attempts were made. */
  attempts: number;
}

const SET_ASIDE = `
  insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at, attempt)
  select gen_random_uuid(), e.id, x.webhook_id, x.run_at, e.created_at, e.created_at + interval '76 hours', x.attempts
  from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::timestamptz[], $5::smallint[]) x(webhook_id, account_id, seq, run_at, attempts)
  join webhook_event e on e.account_id = x.account_id and e.seq = x.seq
  on conflict (webhook_id, event_id) do nothing`;

/** Gives events queue rows of their own, in the transaction in which their lanes go on. */
export async function setAside(sql: Sql, events: readonly SetAside[]): Promise<void> {
  if (events.length === 0) return;
  await sql.query(
    SET_ASIDE,
    columnsOf(events, 'webhookId', 'accountId', 'seq', 'runAt', 'attempts'),
  );
}

// Rows that another transaction changes are skipped, because this one has locked rows already. They
// wait for their breaker or their own next attempt.
const ALL_DUE = `
  update hook_job set run_at = now() where id = any(array(
    select id from hook_job where webhook_id = any($1::uuid[]) and state = ${ROW_WAITING} and run_at > now()
    order by id for update skip locked))`;

/** Makes all waiting rows of webhooks due, because these have recovered. */
export async function makeAllDue(sql: Sql, webhookIds: readonly string[]): Promise<void> {
  if (webhookIds.length === 0) return;
  await sql.query(ALL_DUE, [webhookIds]);
  wakeAfterCommit(sql, 'hook');
}

// Ids sort by time, so the last event before an instant is found by the index of the ids.
const RESUME = `
  update hook_job j set run_at = now(), due_at = now(), attempt = 0, batch_seq = null,
    from_seq = case when j.from_seq is not null then greatest(j.from_seq, (
      select e.seq from webhook w join webhook_event e on e.application_id = w.application_id
      where w.id = $1 and e.id < $2 and e.seq is not null order by e.id desc limit 1)) end
  where j.webhook_id = $1 and j.state = ${ROW_WAITING}`;

/**
 * Lets the deliveries of a webhook go on that rested while it was `failed`, in the caller's
 * transaction, which has locked the rows.
 * @param afterId events up to this id are skipped
 */
export async function resumeDeliveries(
  sql: Sql,
  webhookId: string,
  afterId: string,
): Promise<void> {
  await sql.query(RESUME, [webhookId, afterId]);
  wakeAfterCommit(sql, 'hook');
}
