import { Injectable } from '@nestjs/common';
import type { Sql } from '../../platform/database/sql.ts';

/** A calendar, as passed to listeners in the transaction that changes it. */
export interface ChangedCalendar {
  calendarId: string;
  accountId: string;
  applicationId: string;
  at: Date;
}

/** Implemented by modules that store data in calendars, to follow changes of a calendar. */
export interface CalendarListener {
  /**
   * Called before the calendar is deleted or hidden, together with everything in it. A calendar
   * that a client deletes is hidden until its provider has deleted it.
   */
  deleted(sql: Sql, calendar: ChangedCalendar): Promise<void>;
  /** Called after a hidden calendar is shown again, because its provider refused to delete it. */
  shownAgain(sql: Sql, calendar: ChangedCalendar): Promise<void>;
  /** Called after the zone of the calendar, and so of its all-day events, has changed. */
  timezoneChanged(sql: Sql, calendar: ChangedCalendar & { timezone: string | null }): Promise<void>;
  /**
   * Called before duplicates of the calendar are deleted: rows that a sync pass added for the same
   * calendar before its provider id was stored here.
   * @param kept true if the calendar still exists and takes over the contents of the duplicates
   */
  duplicatesDeleted(
    sql: Sql,
    calendar: ChangedCalendar & { providerId: string; kept: boolean },
  ): Promise<void>;
}

/**
 * The registry of listeners. Modules that store data in calendars add themselves when they start.
 */
@Injectable()
export class CalendarListeners implements CalendarListener {
  readonly #listeners: CalendarListener[] = [];

  add(listener: CalendarListener): void {
    this.#listeners.push(listener);
  }

  async deleted(...change: Parameters<CalendarListener['deleted']>): Promise<void> {
    for (const listener of this.#listeners) await listener.deleted(...change);
  }

  async shownAgain(...change: Parameters<CalendarListener['shownAgain']>): Promise<void> {
    for (const listener of this.#listeners) await listener.shownAgain(...change);
  }

  async timezoneChanged(...change: Parameters<CalendarListener['timezoneChanged']>): Promise<void> {
    for (const listener of this.#listeners) await listener.timezoneChanged(...change);
  }

  async duplicatesDeleted(
    ...change: Parameters<CalendarListener['duplicatesDeleted']>
  ): Promise<void> {
    for (const listener of this.#listeners) await listener.duplicatesDeleted(...change);
  }
}
