import { Injectable, type OnModuleInit } from '@nestjs/common';
import { newId } from '../../../platform/base/ids/ids.ts';
import { recordChanges } from '../../../platform/changes/change-log.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import {
  type CalendarListener,
  CalendarListeners,
  type ChangedCalendar,
} from '../../calendars/calendar-listeners.ts';
import {
  cancelEventsOfCalendar,
  eventsOfDuplicates,
  lockAllDayEvents,
  lockEventsOfCalendar,
  moveEvents,
} from './events-of-calendar.sql.ts';
import { eventChange } from '../event-changes.ts';
import { boundsOf } from '../when/when.ts';
import { lockDiverged } from '../mirror/event-mirror.ts';
import { EventReminders } from '../ports/event-reminders.ts';
import { EventRestorer, type RestoringAccount } from '../write-back/event-restorer.ts';

/** Number of all-day events that are processed together. */
const BATCH = 200;

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

const ACCOUNT = `
  select g.id as "accountId", g.provider, g.email, g.name, coalesce(c.timezone, 'UTC') as zone
  from calendar c join "grant" g on g.id = c.account_id where c.id = $1`;

/** Updates the events in a calendar when the calendar changes, here or at its provider. */
@Injectable()
export class EventsOfCalendar implements CalendarListener, OnModuleInit {
  constructor(
    private readonly listeners: CalendarListeners,
    private readonly reminders: EventReminders,
    private readonly restorer: EventRestorer,
  ) {}

  onModuleInit(): void {
    this.listeners.add(this);
  }

  /**
   * Cancels the events and their reminders, and records their deletion in the change log. The rows
   * of the events are deleted with the row of the calendar.
   */
  async deleted(
    sql: Sql,
    { calendarId, accountId, applicationId, at }: ChangedCalendar,
  ): Promise<void> {
    const events = await lockEventsOfCalendar(sql, calendarId);
    await cancelEventsOfCalendar(sql, calendarId, at);
    const reminding = events.filter((event) => event.reminding).map(({ id }) => id);
    if (reminding.length > 0)
      await this.reminders.cancelEvents(sql, accountId, reminding, 'the calendar was deleted', at);
    await recordChanges(
      sql,
      events.map(({ id }) =>
        eventChange(
          { accountId, applicationId, at },
          { id, calendarId },
          'deleted',
          `delete_calendar:${calendarId}:${id}`,
        ),
      ),
    );
  }

  /** Restores the events that the provider still has, in batches. Their reminders follow. */
  async shownAgain(sql: Sql, calendar: ChangedCalendar): Promise<void> {
    const { calendarId, at } = calendar;
    const [account] = await sql.query<RestoringAccount & { zone: string }>(ACCOUNT, [calendarId]);
    if (!account) return;
    for (;;) {
      const rows = await lockDiverged(sql, calendarId);
      if (rows.length === 0) return;
      const wanted = rows.map((row) => ({ row }));
      const restored = await this.restorer.restore(sql, account, wanted, account.zone, at);
      const changes = restored.map((row) =>
        eventChange(calendar, row, 'created', `show_calendar:${row.id}:${newId()}`),
      );
      await recordChanges(sql, changes);
    }
  }

  /**
   * Moves all-day events and their reminders to their start in the new zone. Takes a few round
   * trips per 200 events.
   */
  async timezoneChanged(
    sql: Sql,
    { calendarId, accountId, at, timezone }: ChangedCalendar & { timezone: string | null },
  ): Promise<void> {
    for (let last = FIRST_ID; ;) {
      const events = await lockAllDayEvents(sql, calendarId, last, BATCH);
      const end = events.at(-1);
      if (!end) return;
      const moved = events.map((event) => ({
        ...event,
        ...boundsOf(event.when, timezone ?? 'UTC'),
      }));
      await moveEvents(sql, moved);
      const plans = moved
        .filter(({ status, notifications }) => status !== 'cancelled' && notifications.length > 0)
        .map(({ id, ...event }) => ({ ...event, accountId, eventId: id, cancelled: false }));
      await this.reminders.planAll(sql, accountId, plans, at);
      if (events.length < BATCH) return;
      last = end.id;
    }
  }

  async duplicatesDeleted(
    sql: Sql,
    { kept, ...calendar }: ChangedCalendar & { providerId: string; kept: boolean },
  ): Promise<void> {
    const { calendarId } = calendar;
    const ids = await eventsOfDuplicates(sql, calendar, kept);
    const verb = kept ? 'updated' : 'deleted';
    const changes = ids.map((id) => eventChange(calendar, { id, calendarId }, verb, null));
    await recordChanges(sql, changes);
  }
}
