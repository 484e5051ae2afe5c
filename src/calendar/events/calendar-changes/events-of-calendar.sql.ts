import type { Sql } from '../../../platform/database/sql.ts';
import type { EventRecord } from '../event-record.ts';
import type { Calendar } from '../../calendars/calendar.entity.ts';
import type { Event } from '../event.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

const ALIVE = `
  select id, notifications <> '[]'::jsonb as reminding
  from event where calendar_id = $1 and status <> 'cancelled' order by id for update`;

const CANCEL = `
  update event
  set status = 'cancelled', released = released or master_event_id is not null, version = version + 1, updated_at = $2
  where calendar_id = $1 and status <> 'cancelled'`;

const ALL_DAY = `
  select id, title, when_value as "when", notifications, status,
    case when notifications = '[]' then '[]' else participants end as participants
  from event
  where calendar_id = $1 and when_value ->> 'object' in ('date', 'datespan') and id > $2
  order by id limit $3 for update`;

const MOVE = `
  update event e set starts_at = m.starts_at, ends_at = m.ends_at
  from jsonb_to_recordset($1) m(id uuid, starts_at timestamptz, ends_at timestamptz)
  where e.id = m.id and (e.starts_at, e.ends_at) is distinct from (m.starts_at, m.ends_at)`;

const TAKE_OVER = `
  update event e set calendar_id = $1 from calendar c
  where c.id = e.calendar_id and c.account_id = $2 and c.provider_id = $3 and c.id <> $1
  returning e.id, e.status`;

const OF_DUPLICATES = `
  select e.id, e.status from event e join calendar c on c.id = e.calendar_id
  where c.account_id = $2 and c.provider_id = $3 and c.id <> $1`;

/**
 * The fields of an all-day event that depend on the calendar's zone, or are needed to plan its
 * reminders.
 */
export type AllDayEvent = Pick<
  EventRecord,
  'id' | 'title' | 'when' | 'notifications' | 'status' | 'participants'
>;

/**
 * Events of a calendar that are not cancelled; `reminding` is true for events with notifications.
 * Their rows stay locked until the transaction ends.
 */
export function lockEventsOfCalendar(
  sql: Sql,
  calendarId: string,
): Promise<{ id: string; reminding: boolean }[]> {
  return sql.query(ALIVE, [calendarId]);
}

/** Cancels all events of a calendar. The caller has locked them. */
export async function cancelEventsOfCalendar(
  sql: Sql,
  calendarId: string,
  at: Date,
): Promise<void> {
  await sql.query(CANCEL, [calendarId, at]);
}

/**
 * Up to `most` all-day events of a calendar, ordered by id, starting after the id `last`. Their
 * rows stay locked until the transaction ends. Participants are read only for events with
 * notifications.
 */
export function lockAllDayEvents(
  sql: Sql,
  calendarId: string,
  last: string,
  most: number,
): Promise<AllDayEvent[]> {
  return sql.query<AllDayEvent>(ALL_DAY, [calendarId, last, most]);
}

/** Stores new start and end instants of events whose `when` has not changed. */
export async function moveEvents(
  sql: Sql,
  events: readonly Pick<EventRecord, 'id' | 'startsAt' | 'endsAt'>[],
): Promise<void> {
  const moves = events.map(({ id, startsAt, endsAt }) => ({
    id,
    starts_at: startsAt,
    ends_at: endsAt,
  }));
  await sql.query(MOVE, [JSON.stringify(moves)]);
}

/**
 * Finds the events of duplicate calendars: other rows of the account with the same provider id.
 * @param move true to move these events into the calendar, false to leave them where they are
 * @returns ids of the events that are not cancelled
 */
export async function eventsOfDuplicates(
  sql: Sql,
  {
    calendarId,
    accountId,
    providerId,
  }: { calendarId: string; accountId: string; providerId: string },
  move: boolean,
): Promise<string[]> {
  const text = move ? TAKE_OVER : OF_DUPLICATES;
  const events = await sql.query<RowOf<Calendar, 'id'> & RowOf<Event, 'status'>>(text, [
    calendarId,
    accountId,
    providerId,
  ]);
  return events.flatMap(({ id, status }) => (status === 'cancelled' ? [] : [id]));
}
