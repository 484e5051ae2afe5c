import { randomBytes } from 'node:crypto';
import { Channels } from './channels.ts';
import type { GoogleEvent } from './google-event.ts';
import { type CalendarSettings, StubCalendar } from './stub-calendar.ts';

/** A mail that Calendar sent to a guest or to an organizer. */
export interface CalendarMail {
  kind: 'invitation' | 'update' | 'cancellation' | 'reply';
  to: string;
  eventId: string;
  summary: string;
}

/** How a person's list shows a calendar. */
export interface ListEntry {
  calendarId: string;
  /** Fields that the person set, such as colours. */
  own: Record<string, unknown>;
  isDeleted: boolean;
  version: number;
}

interface CalendarList {
  entries: Map<string, ListEntry>;
  version: number;
  oldestToken: number;
}

/** All calendars at Google, and each person's list of them. */
export class Calendars {
  readonly all = new Map<string, StubCalendar>();
  readonly channels: Channels;
  /** Mails to guests and organizers, in the order they were sent. */
  readonly mails: CalendarMail[] = [];
  /** Rooms by address, with what the directory says about them. */
  readonly rooms = new Map<string, { name: string; capacity: number; building: string }>();
  readonly #lists = new Map<string, CalendarList>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
    this.channels = new Channels(now);
  }

  /** Adds a person's primary calendar. */
  addPrimary(email: string, timeZone: string): StubCalendar {
    const calendar = this.#add(email, { summary: email, timeZone }, email);
    this.list(email, email, {});
    return calendar;
  }

  /** Adds another calendar of a person. */
  addSecondary(owner: string, settings: CalendarSettings): StubCalendar {
    const id = `c_${randomBytes(16).toString('hex')}@group.calendar.google.com`;
    const calendar = this.#add(id, settings, owner);
    this.list(owner, id, {});
    return calendar;
  }

  /** Adds a room. It accepts invitations while it is free, and declines them otherwise. */
  addRoom(email: string, name: string, capacity = 8, building = 'HQ'): void {
    this.rooms.set(email, { name, capacity, building });
    this.#add(email, { summary: name, timeZone: 'UTC' }, '', true);
  }

  /** Removes a calendar from everywhere. */
  remove({ id }: StubCalendar): void {
    this.all.delete(id);
    for (const [email, { entries }] of this.#lists) if (entries.has(id)) this.unlist(email, id);
  }

  /** Shows a calendar in a person's list, or changes how it is shown. */
  list(email: string, calendarId: string, own: Record<string, unknown>): ListEntry {
    const list = this.listOf(email);
    list.version += 1;
    const before = list.entries.get(calendarId);
    const fields = before?.isDeleted === false ? { ...before.own, ...own } : own;
    const entry = { calendarId, own: fields, isDeleted: false, version: list.version };
    list.entries.set(calendarId, entry);
    this.channels.changed(`list ${email}`);
    return entry;
  }

  /** Takes a calendar out of a person's list. */
  unlist(email: string, calendarId: string): void {
    const list = this.listOf(email);
    list.version += 1;
    const entry = { calendarId, own: {}, isDeleted: true, version: list.version };
    list.entries.set(calendarId, entry);
    this.channels.changed(`list ${email}`);
  }

  listOf(email: string): CalendarList {
    const known = this.#lists.get(email);
    if (known) return known;
    const made = { entries: new Map<string, ListEntry>(), version: 1, oldestToken: 0 };
    this.#lists.set(email, made);
    return made;
  }

  /** Tells everybody who lists a calendar that its settings changed. */
  touch({ id }: StubCalendar): void {
    for (const [email, { entries }] of this.#lists)
      if (entries.get(id)?.isDeleted === false) this.list(email, id, {});
  }

  mail(kind: CalendarMail['kind'], to: string, { id, summary = '' }: GoogleEvent): void {
    this.mails.push({ kind, to, eventId: id, summary });
  }

  #add(id: string, settings: CalendarSettings, owner: string, isRoom = false): StubCalendar {
    const calendar = new StubCalendar(id, settings, {
      now: this.#now,
      onChange: () => this.channels.changed(`events ${id}`),
      isRoom,
    });
    if (owner !== '') calendar.access.set(owner, 'owner');
    this.all.set(id, calendar);
    return calendar;
  }
}
