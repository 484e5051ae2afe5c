import { Inject, Injectable } from '@nestjs/common';
import { newId } from '../../../platform/base/ids/ids.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import { transitionReminders } from '../send/reminder-transitions.ts';
import {
  contentOf,
  type DesiredReminder,
  type ExistingReminder,
  planChanges,
  type ReminderChanges,
} from './reminder-plan.ts';
import type { PlannedReminder, ReminderEvent } from '../../events/ports/event-reminders.ts';
import { wakeAfterCommit } from '../../../platform/work/signals.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';
import type { ReminderJob } from '../reminder-job.entity.ts';
import type { Reminder } from '../reminder.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

// Plans of one event run one after another, for all callers. The lock is a statement of its own,
// because the snapshot of a statement is older than a lock taken in the same statement.
const LOCK_EVENT = 'select pg_advisory_xact_lock(hashtextextended($1::text, 727003))';

const READ = `
  with held as materialized (
    select id, event_id, notification_id, participant, due_at, status, reason from reminder
    where event_id = any($1::uuid[]) and account_id = $2 order by id for update),
  untouched as materialized (
    select j.id from reminder_job j join held h using (id)
    where j.state = ${ROW_WAITING} and j.attempt = 0 and not j.ambiguous for update of j skip locked)
  select h.id, h.event_id as "eventId", h.notification_id as "notificationId", h.participant, h.status, h.reason,
    h.due_at as "dueAt", u.id is not null as untouched
  from held h left join untouched u using (id)`;

// Contents are stored once per notification, not once per recipient. Only queue rows that `READ`
// has locked are changed, so this statement never waits for the engine.
const WRITE = `
  with contents as (
    insert into reminder_content as c (event_id, notification_id, account_id, content)
    select n.event_id, n.notification_id, $1, n.content
    from jsonb_to_recordset($2) n(event_id uuid, notification_id uuid, content jsonb)
    on conflict (event_id, notification_id) do update set content = excluded.content
      where c.content is distinct from excluded.content),
  rewritten as (
    update reminder r
    set recipient = w.recipient, name = w.name, due_at = w.due_at, expires_at = w.expires_at, updated_at = $5
    from jsonb_to_recordset($3) w(id uuid, recipient text, name text, due_at timestamptz, expires_at timestamptz)
    where r.id = w.id
      and (r.recipient, r.name, r.due_at, r.expires_at) is distinct from (w.recipient, w.name, w.due_at, w.expires_at)
    returning r.id, r.due_at),
  moved as (
    update reminder_job j set run_at = greatest(w.due_at, now()), due_at = w.due_at
    from rewritten w
    where j.id = w.id and j.state = ${ROW_WAITING} and j.due_at <> w.due_at),
  added as (
    insert into reminder (id, account_id, event_id, notification_id, participant, name, type, recipient, due_at,
      expires_at, status, reason, message_id_header, created_at, updated_at)
    select n.id, $1, n.event_id, n.notification_id, n.participant, n.name, n.type, n.recipient, n.due_at, n.expires_at,
      n.status, n.reason, n.message_id, $5, $5
    from jsonb_to_recordset($4) n(id uuid, event_id uuid, notification_id uuid, participant text, name text, type text,
      recipient text, due_at timestamptz, expires_at timestamptz, status text, reason text, message_id text)
    returning id, account_id, due_at, status)
  insert into reminder_job (id, account_id, run_at, due_at)
  select id, account_id, greatest(due_at, now()), due_at from added where status = 'scheduled'`;

const CANCEL_EVENTS = `
  select id from reminder
  where account_id = $1 and event_id = any($2::uuid[]) and status = 'scheduled' order by id for update`;

/** Events whose reminders are read and written together. */
const BATCH = 200;

interface Row
  extends
    RowOf<ReminderJob, 'id'>,
    RowOf<Reminder, 'eventId' | 'notificationId' | 'participant' | 'status' | 'reason'> {
  dueAt: Date;
  untouched: boolean;
}

interface Plan {
  event: ReminderEvent;
  changes: ReminderChanges;
}

/** Keeps the reminders of events up to date. */
@Injectable()
export class ReminderPlanner {
  constructor(@Inject(APP_CONFIG) private readonly config: AppConfig) {}

  /**
   * Updates the reminders of an event as `EventReminders.plan` describes it, in at most four round
   * trips. There is one reminder per participant for email and SMS, and one per notification for
   * webhooks. Each is due `minutes_before_event` before the start.
   * @returns what is planned for each notification, in their order
   */
  async plan(sql: Sql, event: ReminderEvent, at: Date): Promise<PlannedReminder[]> {
    await sql.query(LOCK_EVENT, [event.eventId]);
    const [fates] = await this.#update(sql, event.accountId, [event], at);
    return fates ?? [];
  }

  /**
   * Updates the reminders of many events of one account, with three round trips for each 200
   * events. The caller must have locked the rows of the events: this method does not lock their
   * plans.
   */
  async planAll(
    sql: Sql,
    accountId: string,
    events: readonly ReminderEvent[],
    at: Date,
  ): Promise<void> {
    for (let first = 0; first < events.length; first += BATCH)
      await this.#update(sql, accountId, events.slice(first, first + BATCH), at);
  }

  /**
   * Cancels the scheduled reminders of events that are deleted together (their calendar was
   * deleted), in the caller's transaction and two round trips.
   * @param reason shown to clients, e.g. `the calendar was deleted`
   */
  async cancelEvents(
    sql: Sql,
    accountId: string,
    eventIds: readonly string[],
    reason: string,
    at: Date,
  ) {
    const rows = await sql.query<{ id: string }>(CANCEL_EVENTS, [accountId, eventIds]);
    const moves = rows.map(({ id }) => ({ id, to: 'cancelled', reason }) as const);
    await transitionReminders(sql, moves, at);
  }

  /** @returns what is planned for the notifications of each event */
  async #update(
    sql: Sql,
    accountId: string,
    events: readonly ReminderEvent[],
    at: Date,
  ): Promise<PlannedReminder[][]> {
    const existing = await this.#read(sql, accountId, events);
    const plans = events.map((event) => ({
      event,
      changes: planChanges(event, existing.get(event.eventId) ?? [], at),
    }));
    const moves = plans.flatMap(({ changes }) => changes.moves);
    await transitionReminders(sql, moves, at);
    await this.#write(sql, accountId, plans, at);
    return plans.map(({ changes }) => changes.outcomes);
  }

  async #read(
    sql: Sql,
    accountId: string,
    events: readonly ReminderEvent[],
  ): Promise<Map<string, ExistingReminder[]>> {
    const rows = await sql.query<Row>(READ, [events.map(({ eventId }) => eventId), accountId]);
    return Map.groupBy(rows, ({ eventId }) => eventId);
  }

  async #write(sql: Sql, accountId: string, plans: readonly Plan[], at: Date): Promise<void> {
    const rewrites = plans.flatMap(({ changes }) => changes.rewrites);
    const inserts = plans.flatMap(({ event, changes }) =>
      changes.inserts.map((reminder) => ({ event_id: event.eventId, ...this.#newRow(reminder) })),
    );
    if (rewrites.length === 0 && inserts.length === 0) return;
    await sql.query(WRITE, [
      accountId,
      JSON.stringify(plans.flatMap(contentsOf)),
      JSON.stringify(rewrites.map((reminder) => ({ id: reminder.id, ...columnsOf(reminder) }))),
      JSON.stringify(inserts),
      at,
    ]);
    wakeAfterCommit(sql, 'reminder');
  }

  #newRow(reminder: ReminderChanges['inserts'][number]): Record<string, unknown> {
    const { notificationId, participant, type, status, reason } = reminder;
    const id = newId();
    // Set when the reminder is created: every attempt carries the same Message-ID, so that an
    // attempt with an unknown outcome can be looked up.
    const message_id = type === 'email' ? `<${id}@${this.config.outbox.mailDomain}>` : null;
    const columns = columnsOf(reminder);
    return {
      id,
      notification_id: notificationId,
      participant,
      type,
      status,
      reason,
      message_id,
      ...columns,
    };
  }
}

/** Contents of the notifications for which reminders are written. */
function contentsOf({ event, changes: { rewrites, inserts } }: Plan): Record<string, unknown>[] {
  const used = new Set([...rewrites, ...inserts].map(({ notificationId }) => notificationId));
  return event.notifications
    .filter(({ id }) => used.has(id))
    .map((notification) => ({
      event_id: event.eventId,
      notification_id: notification.id,
      content: contentOf(notification, event.title),
    }));
}

/** Columns that a change of the event may change. */
function columnsOf({
  recipient,
  name,
  dueAt,
  expiresAt,
}: DesiredReminder): Record<string, unknown> {
  return { recipient, name, due_at: dueAt, expires_at: expiresAt };
}
