import type { EntityManager } from '@mikro-orm/postgresql';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import {
  type CalendarChange,
  type CalendarListener,
  CalendarListeners,
} from '../calendars/calendar-listeners.ts';
import { sqlOf } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { ReminderPlanner } from '../notifications/reminder-planner.ts';
import type { Participant, StoredNotification, When } from '../event-store/event-values.ts';
import { boundsOf } from '../event-store/when.ts';

const ALIVE = `
  select id, metadata, notifications <> '[]'::jsonb as reminding
  from event where calendar_id = $1 and status <> 'cancelled' order by id for update`;

/** All-day events whose bounds are worked out together. */
const BATCH = 200;

const ALL_DAY = `
  select id, title, when_value as "when", notifications,
    case when notifications = '[]' then '[]' else participants end as participants
  from event
  where calendar_id = $1 and status <> 'cancelled' and when_value ->> 'object' in ('date', 'datespan') and id > $2
  order by id limit ${BATCH} for update`;

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

const MOVE = `
  update event e set starts_at = m.starts_at, ends_at = m.ends_at
  from jsonb_to_recordset($1) m(id uuid, starts_at timestamptz, ends_at timestamptz)
  where e.id = m.id and (e.starts_at, e.ends_at) is distinct from (m.starts_at, m.ends_at)`;

/** An all-day event, as far as the zone of its calendar matters to it. */
interface AllDayEvent {
  id: string;
  title: string;
  when: When;
  notifications: StoredNotification[];
  participants: Participant[];
}

/** What happens to the events in a calendar when the calendar changes. */
@Injectable()
export class EventsOfCalendar implements CalendarListener, OnModuleInit {
  constructor(
    private readonly listeners: CalendarListeners,
    private readonly planner: ReminderPlanner,
  ) {}

  onModuleInit(): void {
    this.listeners.add(this);
  }

  /** The rows go with the calendar's; their reminders and those who listen are told here. */
  async calendarDeleted(em: EntityManager, { calendar, applicationId, at }: CalendarChange): Promise<void> {
    const sql = sqlOf(em);
    const accountId = calendar.account.id;
    const events = await sql.query<{ id: string; reminding: boolean }>(ALIVE, [calendar.id]);
    const reminding = events.filter((event) => event.reminding).map(({ id }) => id);
    if (reminding.length > 0)
      await this.planner.cancelEvents(sql, accountId, reminding, 'the calendar was deleted', at);
    await recordChanges(
      sql,
      events.map(({ id }) => ({
        applicationId,
        accountId,
        object: 'event' as const,
        objectId: id,
        event: 'delete' as const,
        at,
        webhook: {
          trigger: 'event.deleted' as const,
          dedupe: `delete_calendar:${calendar.id}:${id}`,
          attributes: { calendar_id: calendar.id, created_before_account_connection: false },
        },
      })),
    );
  }

  /** All-day events begin at another instant, and so do their reminders. A few round trips for each two hundred. */
  async timezoneChanged(em: EntityManager, { calendar, at }: CalendarChange): Promise<void> {
    const accountId = calendar.account.id;
    const sql = sqlOf(em);
    const zone = calendar.timezone ?? 'UTC';
    for (let last = FIRST_ID; ;) {
      const events = await sql.query<AllDayEvent>(ALL_DAY, [calendar.id, last]);
      const end = events.at(-1);
      if (!end) return;
      const bounds = events.map(({ id, when }) => ({ id, ...boundsOf(when, zone) }));
      const moves = bounds.map(({ id, startsAt, endsAt }) => ({ id, starts_at: startsAt, ends_at: endsAt }));
      await sql.query(MOVE, [JSON.stringify(moves)]);
      const plans = events.flatMap(({ id: eventId, title, notifications, participants }, index) => {
        const { startsAt } = bounds[index]!;
        if (notifications.length === 0) return [];
        return [{ accountId, eventId, title, startsAt, notifications, participants, cancelled: false }];
      });
      await this.planner.planAll(sql, accountId, plans, at);
      if (events.length < BATCH) return;
      last = end.id;
    }
  }
}
