import { canTransition } from '../../../platform/base/state/transitions.ts';
import { storable } from '../../../platform/base/text/storable.ts';
import { columnsOf, idsOf, type Sql } from '../../../platform/database/sql.ts';
import { recordChanges } from '../../../platform/changes/change-log.ts';
import { wakeAfterCommit } from '../../../platform/work/signals.ts';
import { REMINDER_STATUSES, type ReminderStatus } from '../../events/ports/event-reminders.ts';
import { REMINDER_TRANSITIONS } from '../reminder-status.ts';
import { type NotifiedReminder, reminderChanges } from './reminder-changes.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';

export interface ReminderTransition {
  id: string;
  to: ReminderStatus;
  /** Required for `failed`, `skipped` and `cancelled`. */
  reason: string | null;
  /** Attempts made so far. A smaller number than the stored one has no effect. */
  attempts?: number;
}

/**
 * Longest stored reason in characters. Reasons come from providers and receivers, so their length
 * must be limited.
 */
const MOST_REASON = 1_000;

/** For each status, the statuses from which it can be reached, from `REMINDER_TRANSITIONS`. */
const SOURCES = Object.fromEntries(
  REMINDER_STATUSES.map((to) => [
    to,
    REMINDER_STATUSES.filter((from) =>
      canTransition<ReminderStatus>(REMINDER_TRANSITIONS, from, to),
    ).join(','),
  ]),
) as Record<ReminderStatus, string>;

// A transaction that has locked reminders must never wait for the engine, which locks in the other
// order. SKIP LOCKED therefore skips a queue row that the engine is claiming; its run then finds
// that the reminder is not scheduled. A queue row with an unknown outcome (`ambiguous`) also stays:
// its run looks up whether the reminder was sent. A reminder that is scheduled again while its old
// run is being settled keeps that queue row (see `requeueDropped`).
const MOVE = `
  with asked as (
    select * from unnest($1::uuid[], $2::text[], $3::text[], $4::smallint[], $5::text[])
      a(id, status, reason, attempts, sources)),
  held as materialized (
    select r.id, r.account_id, r.due_at, r.attempts as before, a.status, a.reason, a.attempts
    from reminder r join asked a using (id)
    where r.status = any(string_to_array(a.sources, ',')) order by r.id for update of r),
  idle as materialized (
    select j.id from reminder_job j join held h using (id)
    where h.status <> 'scheduled' and j.state = ${ROW_WAITING} and not j.ambiguous for update of j skip locked),
  dequeued as (
    delete from reminder_job j using idle where j.id = idle.id returning j.id, j.attempt),
  queued as (
    insert into reminder_job (id, account_id, run_at, due_at, ambiguous)
    select h.id, h.account_id, greatest(h.due_at, now()), h.due_at, h.before > 0 from held h
    where h.status = 'scheduled' and not exists (select 1 from reminder_job j where j.id = h.id))
  update reminder r
  set status = h.status, reason = h.reason, updated_at = $6::timestamptz,
      attempts = greatest(r.attempts, h.attempts, d.attempt),
      sent_at = case when h.status = 'sent' then $6::timestamptz end
  from held h left join dequeued d using (id)
  where r.id = h.id
  returning r.id, r.account_id as "accountId", r.event_id as "eventId", r.notification_id as "notificationId",
    r.participant, r.type, r.recipient, r.due_at as "dueAt", r.status, r.reason, r.attempts, r.sent_at as "sentAt",
    (select g.application_id from "grant" g where g.id = r.account_id) as "applicationId"`;

/**
 * Changes the status of reminders, in the caller's transaction. No other function may do so. A
 * reminder that becomes scheduled gets a queue row; a waiting queue row of a reminder that stops
 * being scheduled is deleted. A transition that `REMINDER_TRANSITIONS` does not allow is skipped
 * without an error, because another transaction has settled that reminder. Subscribers are notified
 * of reminders that become `sent` or `failed`.
 * @returns ids of the reminders that changed
 */
export async function transitionReminders(
  sql: Sql,
  moves: readonly ReminderTransition[],
  at: Date,
): Promise<string[]> {
  if (moves.length === 0) return [];
  const rows = await sql.query<NotifiedReminder>(MOVE, [
    ...columnsOf(moves, 'id', 'to'),
    moves.map(({ reason }) => (reason === null ? null : storable(reason, MOST_REASON))),
    moves.map(({ attempts }) => attempts ?? 0),
    moves.map(({ to }) => SOURCES[to]),
    at,
  ]);
  await recordChanges(sql, reminderChanges(rows, at));
  if (moves.some(({ to }) => to === 'scheduled')) wakeAfterCommit(sql, 'reminder');
  return idsOf(rows);
}

const LOCK = 'select id from reminder where id = any($1::uuid[]) order by id for update';

/** Locks several reminders, in the order that all transactions use. */
export async function lockReminders(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.query(LOCK, [ids]);
}

/** An attempt that another attempt will follow. */
export interface FailedAttempt {
  id: string;
  attempts: number;
  reason: string;
}

const NOTE = `
  update reminder r set attempts = greatest(r.attempts, n.attempts), reason = n.reason, updated_at = $4
  from unnest($1::uuid[], $2::smallint[], $3::text[]) n(id, attempts, reason)
  where r.id = n.id and r.status = 'scheduled'`;

/** Stores on scheduled reminders why the last attempt did not succeed. */
export async function noteFailedAttempts(sql: Sql, failed: readonly FailedAttempt[], at: Date) {
  if (failed.length === 0) return;
  await sql.query(NOTE, [
    ...columnsOf(failed, 'id', 'attempts'),
    failed.map(({ reason }) => storable(reason, MOST_REASON)),
    at,
  ]);
}

/** What a run that ended with an unknown outcome, or ended it, changes in its queue row. */
export interface CountedLookUps {
  id: string;
  /** Attempts so far: the run itself is none if it only looked an earlier one up. */
  attempts: number;
  /** Look-ups since the outcome became unknown that proved nothing. */
  lookUps: number;
}

const LOOK_UPS = `
  update reminder_job j set attempt = n.attempts, look_ups = n.look_ups
  from unnest($1::uuid[], $2::smallint[], $3::smallint[]) n(id, attempts, look_ups)
  where j.id = n.id`;

/** Counts look-ups apart from attempts, so that earlier attempts shorten no search. */
export async function recordLookUps(sql: Sql, counted: readonly CountedLookUps[]): Promise<void> {
  if (counted.length > 0)
    await sql.query(LOOK_UPS, columnsOf(counted, 'id', 'attempts', 'lookUps'));
}

const UNCOUNT = `
  update reminder_job set attempt = greatest(attempt - 1, 0) where id = any($1::uuid[])`;

/** Stores on scheduled reminders why they wait. Their runs do not count as attempts. */
export async function noteWaits(
  sql: Sql,
  waiting: readonly Omit<FailedAttempt, 'attempts'>[],
  at: Date,
): Promise<void> {
  if (waiting.length === 0) return;
  await sql.query(UNCOUNT, [idsOf(waiting)]);
  await noteFailedAttempts(
    sql,
    waiting.map(({ id, reason }) => ({ id, reason, attempts: 0 })),
    at,
  );
}

const REQUEUE = `
  insert into reminder_job (id, account_id, run_at, due_at, ambiguous)
  select id, account_id, greatest(due_at, now()), due_at, attempts > 0 from reminder
  where id = any($1::uuid[]) and status = 'scheduled'
  on conflict (id) do nothing`;

/**
 * Queues reminders that became scheduled again after a run had found them unscheduled and had
 * deleted their queue rows. Call it with the reminders locked, after the queue rows were deleted.
 */
export async function requeueDropped(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.query(REQUEUE, [ids]);
}
