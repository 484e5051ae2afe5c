import { randomBytes } from 'node:crypto';
import { Temporal } from 'temporal-polyfill';
import { type ItemIds, newContainerId, newItemIds } from '../graph/item-ids.ts';
import type { ItemChange } from '../mail/mailbox.ts';
import type { EventContent, Instance, StoredCalendar, StoredEvent } from './event.ts';
import { startsOf } from './recurrence.ts';
import { zoneOf } from './zones.ts';

/** What a new event has besides its content. */
export type EventOrigin = Pick<StoredEvent, 'organizer' | 'isOrganizer' | 'response'> &
  Partial<Pick<StoredEvent, 'iCalUId' | 'transactionId' | 'joinUrl'>>;

/** Calendars and events of one user. */
export class CalendarStore {
  readonly calendars = new Map<string, StoredCalendar>();
  onChange: ((change: ItemChange) => void) | null = null;
  readonly #events = new Map<string, StoredEvent>();
  readonly #byRestId = new Map<string, StoredEvent>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
    this.addCalendar('Calendar', true);
  }

  now(): Date {
    return new Date(Math.floor(this.#now() / 1_000) * 1_000);
  }

  get defaultCalendar(): StoredCalendar {
    const found = [...this.calendars.values()].find(({ isDefault }) => isDefault);
    if (!found) throw new Error('a user has a default calendar');
    return found;
  }

  addCalendar(name: string, isDefault = false): StoredCalendar {
    const id = newContainerId();
    const calendar = { id, name, color: 'auto', isDefault, version: 1, extended: [] };
    this.calendars.set(calendar.id, calendar);
    return calendar;
  }

  removeCalendar({ id }: StoredCalendar): void {
    for (const event of this.eventsOf(id)) this.remove(event);
    this.calendars.delete(id);
  }

  /** Single events and series of a calendar; no exceptions. */
  eventsOf(calendarId: string): StoredEvent[] {
    return [...this.#events.values()].filter((event) => event.calendarId === calendarId);
  }

  /** Single events and series of all calendars. */
  allEvents(): StoredEvent[] {
    return [...this.#events.values()];
  }

  add(calendarId: string, content: EventContent, origin: EventOrigin): StoredEvent {
    const now = this.now();
    const event: StoredEvent = {
      transactionId: null,
      joinUrl: null,
      iCalUId: `040000008200E00074C5B7101A82E008${randomBytes(40).toString('hex').toUpperCase()}`,
      ...content,
      ...origin,
      ...newItemIds(),
      calendarId,
      responded: null,
      isCancelled: false,
      created: now,
      modified: now,
      version: 1,
      master: null,
      originalStart: null,
      exceptions: new Map(),
      removed: new Set(),
    };
    this.#events.set(event.immutableId, event);
    this.#byRestId.set(event.restId, event);
    this.#tell(event, 'created');
    return event;
  }

  /** Changes an event. New times or a new recurrence of a series end its exceptions. */
  update(event: StoredEvent, patch: Partial<StoredEvent>): void {
    const moves = 'start' in patch || 'end' in patch || 'recurrence' in patch;
    Object.assign(event, patch);
    if (!event.master && moves) {
      event.exceptions.clear();
      event.removed.clear();
    }
    this.#touch(event);
    this.#tell(event, 'updated');
  }

  /** Removes a single event or series, or one instance of a series. */
  remove(event: StoredEvent): void {
    if (event.master && event.originalStart !== null) {
      this.removeOccurrence(event.master, event.originalStart);
      return;
    }
    this.#events.delete(event.immutableId);
    this.#byRestId.delete(event.restId);
    this.#tell(event, 'deleted');
  }

  removeOccurrence(master: StoredEvent, originalStart: number): void {
    master.exceptions.delete(originalStart);
    master.removed.add(originalStart);
    this.#touch(master);
    this.#tell(master, 'updated');
  }

  /** Makes an exception of an occurrence; it keeps the occurrence's id. */
  exceptionOf({ event: master, ids, originalStart, start, end }: Instance): StoredEvent {
    if (originalStart === null) throw new Error('only occurrences become exceptions');
    const exception: StoredEvent = {
      ...master,
      ...ids,
      start,
      end,
      recurrence: null,
      attendees: master.attendees.map((attendee) => ({ ...attendee })),
      master,
      originalStart,
      exceptions: new Map(),
      removed: new Set(),
    };
    master.exceptions.set(originalStart, exception);
    return exception;
  }

  /** The single event or series with this id. */
  event(id: string): StoredEvent | undefined {
    return this.#events.get(id) ?? this.#byRestId.get(id);
  }

  /** The occurrence or exception with this id. */
  instance(id: string): Instance | undefined {
    const [, masterId = '', start = ''] = /^(.+)_O(\d+)=*$/.exec(id) ?? [];
    const master = this.event(masterId) ?? this.event(`${masterId}=`);
    if (!master?.recurrence) return undefined;
    const originalStart = Number(start);
    return this.instancesOf(master, originalStart, originalStart + 1, true).find(
      (instance) => instance.originalStart === originalStart,
    );
  }

  /**
   * Instances of an event that overlap a window.
   * @param byOriginal compares the original starts of instances instead of their times
   */
  instancesOf(event: StoredEvent, from: number, until: number, byOriginal = false): Instance[] {
    const { start, end, recurrence } = event;
    if (!recurrence) {
      const single = { event, type: 'singleInstance' as const, ids: event, start, end };
      return end > from && start < until ? [{ ...single, originalStart: null }] : [];
    }
    const wall = Temporal.Instant.fromEpochMilliseconds(start).toZonedDateTimeISO(
      zoneOf(event.startZone),
    );
    // Exceptions may have moved into the window from behind it.
    const last = Math.max(until, ...[...event.exceptions.keys()].map((key) => key + 1));
    const time = wall.toPlainTime().toString();
    return startsOf(recurrence, time, event.startZone, last)
      .filter((original) => !event.removed.has(original))
      .map((original) => this.#instance(event, original))
      .filter((one) =>
        byOriginal
          ? (one.originalStart ?? 0) >= from && (one.originalStart ?? 0) < until
          : one.end > from && one.start < until,
      );
  }

  #instance(master: StoredEvent, originalStart: number): Instance {
    const ids = occurrenceIds(master, originalStart);
    const exception = master.exceptions.get(originalStart);
    if (exception) {
      const { start, end } = exception;
      return { event: exception, type: 'exception', ids, start, end, originalStart };
    }
    const end = originalStart + lengthAt(master, originalStart);
    return { event: master, type: 'occurrence', ids, start: originalStart, end, originalStart };
  }

  #touch(event: StoredEvent): void {
    event.modified = this.now();
    event.version += 1;
    if (!event.master) return;
    // Exceptions are part of the item of their series.
    event.master.version += 1;
    event.master.modified = event.modified;
  }

  #tell({ calendarId, immutableId, restId }: StoredEvent, change: ItemChange['change']): void {
    const ids = { immutableId, restId };
    this.onChange?.({ resource: 'events', change, containerId: calendarId, ids });
  }
}

/** Days of an all-day event may have 23 or 25 hours. */
function lengthAt({ start, end, isAllDay, startZone }: StoredEvent, at: number): number {
  if (!isAllDay) return end - start;
  const wall = (ms: number) =>
    Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zoneOf(startZone));
  const { days } = wall(end).toPlainDate().since(wall(start).toPlainDate());
  return wall(at).add({ days }).epochMilliseconds - at;
}

const occurrenceIds = ({ immutableId, restId }: ItemIds, start: number): ItemIds => ({
  immutableId: `${immutableId}_O${start}`,
  restId: `${restId.replace(/=+$/, '')}_O${start}=`,
});
