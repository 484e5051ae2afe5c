import type { EntityManager } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import type { Calendar } from './calendar.entity.ts';

/** A change of a calendar that concerns what is in it. */
export interface CalendarChange {
  calendar: Calendar;
  applicationId: string;
  at: Date;
}

/** What other rooms do when a calendar changes, in the same transaction. */
export interface CalendarListener {
  /** Called while the calendar and everything in it are still there. */
  calendarDeleted(em: EntityManager, change: CalendarChange): Promise<void>;
  /** The zone of all-day events is another one now. */
  timezoneChanged(em: EntityManager, change: CalendarChange): Promise<void>;
}

/** Rooms that keep something in calendars add themselves when their module starts. */
@Injectable()
export class CalendarListeners {
  readonly #listeners: CalendarListener[] = [];

  add(listener: CalendarListener): void {
    this.#listeners.push(listener);
  }

  all(): readonly CalendarListener[] {
    return this.#listeners;
  }
}
