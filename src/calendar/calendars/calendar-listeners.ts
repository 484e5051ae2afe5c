import { Injectable } from '@nestjs/common';
import type { Sql } from '../../platform/database/sql.ts';

/** A calendar, in the transaction that changes it. */
export interface ChangedCalendar {
  calendarId: string;
  accountId: string;
  applicationId: string;
  at: Date;
}

/** What rooms that keep something in calendars do when a calendar changes. */
export interface CalendarListener {
  /** The calendar is about to be deleted, with everything in it. */
  deleted(sql: Sql, calendar: ChangedCalendar): Promise<void>;
  /** All-day events have another zone now. */
  timezoneChanged(sql: Sql, calendar: ChangedCalendar & { timezone: string | null }): Promise<void>;
  /**
   * Other calendars with this calendar's id at the provider are about to be deleted: the mirror added them before that id was
   * stored here.
   * @param kept whether the calendar is still there, and gets what is in the others
   */
  twinsDeleted(
    sql: Sql,
    calendar: ChangedCalendar & { providerId: string; kept: boolean },
  ): Promise<void>;
}

/** Rooms that keep something in calendars add themselves when their module starts. */
@Injectable()
export class CalendarListeners implements CalendarListener {
  readonly #listeners: CalendarListener[] = [];

  add(listener: CalendarListener): void {
    this.#listeners.push(listener);
  }

  async deleted(...change: Parameters<CalendarListener['deleted']>): Promise<void> {
    for (const listener of this.#listeners) await listener.deleted(...change);
  }

  async timezoneChanged(...change: Parameters<CalendarListener['timezoneChanged']>): Promise<void> {
    for (const listener of this.#listeners) await listener.timezoneChanged(...change);
  }

  async twinsDeleted(...change: Parameters<CalendarListener['twinsDeleted']>): Promise<void> {
    for (const listener of this.#listeners) await listener.twinsDeleted(...change);
  }
}
