import type { EntityManager } from '@mikro-orm/postgresql';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import {
  type CalendarChange,
  type CalendarListener,
  CalendarListeners,
} from '../calendars/calendar-listeners.ts';
import { sqlOf } from '../database/sql.ts';
import { recordChanges } from '../deltas/change-log.ts';
import { ReminderPlanner } from '../notifications/reminder-planner.ts';
import { eventRecord } from './event-record.ts';
import { Event } from './event.entity.ts';
import { boundsOf } from './when.ts';

const ALIVE = `
  select id, metadata, notifications <> '[]'::jsonb as reminding
  from event where calendar_id = $1 and status <> 'cancelled' order by id for update`;

const ALL_DAY = `
  select id from event
  where calendar_id = $1 and status <> 'cancelled' and when_value ->> 'object' in ('date', 'datespan')
  order by id for update`;

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

  /** All-day events begin at another instant, and so do their reminders. */
  async timezoneChanged(em: EntityManager, { calendar, at }: CalendarChange): Promise<void> {
    const sql = sqlOf(em);
    const ids = (await sql.query<{ id: string }>(ALL_DAY, [calendar.id])).map(({ id }) => id);
    if (ids.length === 0) return;
    const events = await em.find(Event, { id: { $in: ids } }, { refresh: true });
    for (const event of events) em.assign(event, boundsOf(event.when, calendar.timezone ?? 'UTC'));
    for (const event of events.filter(({ notifications }) => notifications.length > 0)) {
      await this.planner.plan(sql, { ...eventRecord(event), eventId: event.id, cancelled: false }, at);
    }
  }
}
