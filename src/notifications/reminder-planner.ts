import { Inject, Injectable } from '@nestjs/common';
import { newId } from '../common/ids/ids.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import type { Sql } from '../database/sql.ts';
import { moveReminders } from './reminder-moves.ts';
import {
  contentOf,
  type DesiredReminder,
  type ExistingReminder,
  planChanges,
  type PlannedReminder,
  type ReminderChanges,
  type ReminderEvent,
} from './reminder-plan.ts';
import type { ReminderStatus } from './reminder-status.ts';

// Plans of one event take turns whoever the caller is; a statement of its own, because a snapshot is older than a
// lock taken in the same statement.
const TAKE_TURNS = 'select pg_advisory_xact_lock(hashtextextended($1::text, 727003))';

const READ = `
  with held as materialized (
    select id, notification_id, participant, due_at, status, reason from reminder
    where event_id = $1 and account_id = $2 order by id for update),
  untouched as materialized (
    select j.id from reminder_job j join held h using (id)
    where j.state = 0 and j.attempt = 0 and not j.ambiguous for update of j skip locked)
  select h.id, h.notification_id as "notificationId", h.participant, h.status, h.reason,
    (extract(epoch from h.due_at) * 1000)::float8 as due, u.id is not null as untouched
  from held h left join untouched u using (id)`;

// Contents travel once per notification, not once per recipient.
const REWRITE = `
  with wanted as (
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[])
      w(id, notification_id, name, recipient, due_at, expires_at)),
  contents as (select * from unnest($7::uuid[], $8::jsonb[]) c(notification_id, content)),
  fresh as (
    select w.*, c.content || jsonb_build_object('name', w.name) as content
    from wanted w join contents c using (notification_id)),
  changed as (
    update reminder r
    set recipient = f.recipient, content = f.content, due_at = f.due_at, expires_at = f.expires_at, updated_at = $9
    from fresh f
    where r.id = f.id
      and (r.recipient, r.content, r.due_at, r.expires_at)
        is distinct from (f.recipient, f.content, f.due_at, f.expires_at)
    returning r.id, r.due_at)
  update reminder_job j set run_at = greatest(c.due_at, now()), due_at = c.due_at
  from changed c
  where j.id = c.id and j.state = 0 and j.due_at <> c.due_at`;

const INSERT = `
  with wanted as (
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
      $8::timestamptz[], $9::text[], $10::text[], $11::text[])
      w(id, notification_id, participant, name, type, recipient, due_at, expires_at, status, reason, message_id)),
  contents as (select * from unnest($12::uuid[], $13::jsonb[]) c(notification_id, content)),
  added as (
    insert into reminder (id, account_id, event_id, notification_id, participant, type, recipient, content, due_at,
      expires_at, status, reason, message_id_header, created_at, updated_at)
    select w.id, $14, $15, w.notification_id, w.participant, w.type, w.recipient,
      c.content || jsonb_build_object('name', w.name), w.due_at, w.expires_at, w.status, w.reason, w.message_id, $16, $16
    from wanted w join contents c using (notification_id)
    returning id, account_id, due_at, status)
  insert into reminder_job (id, account_id, run_at, due_at)
  select id, account_id, greatest(due_at, now()), due_at from added where status = 'scheduled'`;

const CANCEL_EVENTS = `
  select id from reminder
  where account_id = $1 and event_id = any($2::uuid[]) and status = 'scheduled' order by id for update`;

interface Row {
  id: string;
  notificationId: string;
  participant: string;
  status: ReminderStatus;
  reason: string | null;
  /** Milliseconds; as text when the ORM's transaction is used. */
  due: number | string;
  untouched: boolean;
}

/** Keeps the reminders of events in line with the events (design 9). */
@Injectable()
export class ReminderPlanner {
  readonly #domain: string;

  constructor(@Inject(APP_CONFIG) config: AppConfig) {
    this.#domain = config.outbox.mailDomain;
  }

  /**
   * Brings the reminders of an event in line with the event as it now is, in the transaction that writes the event:
   * one reminder per participant for email and sms, one per notification for webhooks, due `minutes_before_event`
   * before the start. Call it after every change of start, title, participants, notifications or status; unchanged
   * reminders are left alone, and what has been sent is never sent again for the same due time. Five round trips at
   * most. Wake `reminder` after the commit.
   *
   * A notification that stays the same must keep its id (`keepNotificationIds`): the id is what makes it the same.
   *
   * @param at now, by the injected clock
   * @returns what becomes of each notification, in their order
   */
  async plan(sql: Sql, event: ReminderEvent, at: Date): Promise<PlannedReminder[]> {
    await sql.query(TAKE_TURNS, [event.eventId]);
    const changes = planChanges(event, await this.#read(sql, event), at);
    await moveReminders(sql, changes.moves, at);
    await this.#rewrite(sql, event, changes.rewrites, at);
    await this.#insert(sql, event, changes.inserts, at);
    return changes.fates;
  }

  /**
   * Cancels what is still scheduled for events that go away together (their calendar was deleted), in the caller's
   * transaction and two round trips.
   * @param reason shown to callers, e.g. `the calendar was deleted`
   */
  async cancelEvents(
    sql: Sql,
    accountId: string,
    eventIds: readonly string[],
    reason: string,
    at: Date,
  ): Promise<void> {
    const rows = await sql.query<{ id: string }>(CANCEL_EVENTS, [accountId, eventIds]);
    await moveReminders(
      sql,
      rows.map(({ id }) => ({ id, to: 'cancelled', reason })),
      at,
    );
  }

  async #read(sql: Sql, { eventId, accountId }: ReminderEvent): Promise<ExistingReminder[]> {
    const rows = await sql.query<Row>(READ, [eventId, accountId]);
    return rows.map(({ due, ...row }) => ({ ...row, dueAt: new Date(Number(due)) }));
  }

  async #rewrite(sql: Sql, event: ReminderEvent, rows: ReminderChanges['rewrites'], at: Date): Promise<void> {
    if (rows.length === 0) return;
    await sql.query(REWRITE, [
      rows.map(({ id }) => id),
      rows.map(({ notificationId }) => notificationId),
      rows.map(({ name }) => name),
      rows.map(({ recipient }) => recipient),
      rows.map(({ dueAt }) => dueAt),
      rows.map(({ expiresAt }) => expiresAt),
      ...contents(event, rows),
      at,
    ]);
  }

  async #insert(sql: Sql, event: ReminderEvent, rows: ReminderChanges['inserts'], at: Date): Promise<void> {
    if (rows.length === 0) return;
    const ids = rows.map(() => newId());
    await sql.query(INSERT, [
      ids,
      rows.map(({ notificationId }) => notificationId),
      rows.map(({ participant }) => participant),
      rows.map(({ name }) => name),
      rows.map(({ type }) => type),
      rows.map(({ recipient }) => recipient),
      rows.map(({ dueAt }) => dueAt),
      rows.map(({ expiresAt }) => expiresAt),
      rows.map(({ status }) => status),
      rows.map(({ reason }) => reason),
      rows.map(({ type }, index) => (type === 'email' ? `<${ids[index]}@${this.#domain}>` : null)),
      ...contents(event, rows),
      event.accountId,
      event.eventId,
      at,
    ]);
  }
}

/** Ids and contents of the notifications these rows belong to. */
function contents(event: ReminderEvent, rows: readonly DesiredReminder[]): [string[], string[]] {
  const used = new Set(rows.map(({ notificationId }) => notificationId));
  const notifications = event.notifications.filter(({ id }) => used.has(id));
  return [
    notifications.map(({ id }) => id),
    notifications.map((notification) => JSON.stringify(contentOf(notification, event.title))),
  ];
}
