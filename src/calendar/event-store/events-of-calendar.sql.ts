import type { Sql } from '../../platform/database/sql.ts';
import type { EventRecord } from './event-record.ts';

const ALIVE = `
  select id, notifications <> '[]'::jsonb as reminding
  from event where calendar_id = $1 and status <> 'cancelled' order by id for update`;

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

const OF_TWINS = `
  select e.id, e.status from event e join calendar c on c.id = e.calendar_id
  where c.account_id = $2 and c.provider_id = $3 and c.id <> $1`;

/** An all-day event, as far as the zone of its calendar matters to it. */
export type AllDayEvent = Pick<
  EventRecord,
  'id' | 'title' | 'when' | 'notifications' | 'status' | 'participants'
>;

/** Events of a calendar that are not cancelled, held; `reminding`: with notifications. */
export function holdEvents(
  sql: Sql,
  calendarId: string,
): Promise<{ id: string; reminding: boolean }[]> {
  return sql.query(ALIVE, [calendarId]);
}

/** All-day events of a calendar by their ids, from the one after `last` on, held. Participants only of those with notifications. */
export function holdAllDayEvents(
  sql: Sql,
  calendarId: string,
  last: string,
  most: number,
): Promise<AllDayEvent[]> {
  return sql.query<AllDayEvent>(ALL_DAY, [calendarId, last, most]);
}

/** Stores other bounds of events whose `when` has not changed. */
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
 * Events of the account's other calendars with this id at the provider.
 * @param move whether they come into the calendar, or stay where they are
 * @returns ids of those that are not cancelled
 */
export async function eventsOfTwins(
  sql: Sql,
  {
    calendarId,
    accountId,
    providerId,
  }: { calendarId: string; accountId: string; providerId: string },
  move: boolean,
): Promise<string[]> {
  const text = move ? TAKE_OVER : OF_TWINS;
  const events = await sql.query<{ id: string; status: string }>(text, [
    calendarId,
    accountId,
    providerId,
  ]);
  return events.flatMap(({ id, status }) => (status === 'cancelled' ? [] : [id]));
}
