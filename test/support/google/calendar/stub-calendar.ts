import type { GoogleEvent, StoredEvent } from './google-event.ts';
import { instanceSuffix, instantOf, startsOf, timeLike } from './times.ts';

/** What a person may do with a calendar. */
export type AccessRole = 'owner' | 'writer' | 'reader' | 'freeBusyReader';

/** A calendar's own settings. */
export interface CalendarSettings {
  summary: string;
  description?: string;
  location?: string;
  timeZone: string;
}

/** How far ahead a series without end is listed, in milliseconds: two years. */
const HORIZON = 730 * 86_400_000;

/** The id of the first part of a series that was split, from which instances have theirs. */
const partOf = (seriesId: string): string => seriesId.replace(/_R\d{8}(T\d{6})?$/, '');

/** A calendar with its events. Every change gets a version, by which sync tokens work. */
export class StubCalendar {
  readonly id: string;
  settings: CalendarSettings;
  /** Roles by address. */
  readonly access = new Map<string, AccessRole>();
  readonly events = new Map<string, StoredEvent>();
  /** True for a room, which answers invitations by itself. */
  readonly isRoom: boolean;
  /** Sync tokens older than this version are refused with 410. */
  oldestToken = 0;
  readonly #now: () => number;
  readonly #onChange: (calendar: StubCalendar) => void;
  #version = 100;

  constructor(
    id: string,
    settings: CalendarSettings,
    world: { now: () => number; onChange: (calendar: StubCalendar) => void; isRoom?: boolean },
  ) {
    this.id = id;
    this.settings = settings;
    this.#now = world.now;
    this.#onChange = world.onChange;
    this.isRoom = world.isRoom ?? false;
  }

  get version(): number {
    return this.#version;
  }

  get zone(): string {
    return this.settings.timeZone;
  }

  /** Makes all sync tokens that were given until now invalid. */
  expireSyncTokens(): void {
    this.#version += 1;
    this.oldestToken = this.#version;
  }

  /** Stores an event in place of the one with its id. */
  put(event: GoogleEvent): StoredEvent {
    this.#version += 1;
    const updated = new Date(this.#now()).toISOString();
    const stored = { event: { ...event, updated }, version: this.#version };
    this.events.set(event.id, stored);
    this.#onChange(this);
    return stored;
  }

  /** Cancels an event, and with a series its changed instances. */
  cancel(event: GoogleEvent): void {
    for (const { event: exception } of this.exceptionsOf(event.id))
      if (exception.status !== 'cancelled') this.put({ ...exception, status: 'cancelled' });
    this.put({ ...event, status: 'cancelled' });
  }

  /** An event, a changed instance, or an unchanged instance made from its series. */
  find(id: string): StoredEvent | null {
    const stored = this.events.get(id);
    if (stored) return stored;
    const [, seriesId = '', suffix = ''] = /^(.+)_(\d{8}(?:T\d{6}Z)?)$/.exec(id) ?? [];
    const [, y, m, d, h = '00', i = '00', s = '00'] =
      /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)Z)?$/.exec(suffix) ?? [];
    const at = Date.parse(`${y}-${m}-${d}T${h}:${i}:${s}Z`);
    for (const series of this.events.values()) {
      const { event } = series;
      if (partOf(event.id) !== seriesId || !event.recurrence || event.status === 'cancelled')
        continue;
      const [start] = startsOf(event, at, at + 1, this.zone);
      if (start !== undefined) return this.#instance(series, start);
    }
    return null;
  }

  /**
   * Ends a series before one of its instances and makes a series of the rest, as Google's pages do
   * for a change of "this and following" events. The instances keep their ids.
   * @param at the instance's start in milliseconds
   * @param change of the rest
   */
  split({ event }: StoredEvent, at: number, change: Partial<GoogleEvent> = {}): StoredEvent {
    const [start, end] = this.rangeOf(event);
    const first = timeLike(event.start ?? {}, at, this.zone);
    const stamp = new Date(at).toISOString().replace(/[-:]|\.\d+Z$/g, '');
    const until = new Date(at - 1000).toISOString().replace(/[-:]|\.\d+/g, '');
    const rules = (event.recurrence ?? []).map((line) => line.replace(/;(COUNT|UNTIL)=[^;]*/, ''));
    this.put({ ...event, recurrence: rules.map((line) => `${line};UNTIL=${until}`) });
    const id = `${partOf(event.id)}_R${stamp}`;
    return this.put({
      ...event,
      id,
      iCalUID: `${id}@google.com`,
      start: first,
      end: timeLike(event.end ?? {}, at + (end - start), this.zone),
      ...change,
    });
  }

  /** Stored exceptions of a series. */
  exceptionsOf(seriesId: string): StoredEvent[] {
    return [...this.events.values()].filter(({ event }) => event.recurringEventId === seriesId);
  }

  /** Instances of a series within a range: changed and cancelled ones in place of the original. */
  instancesOf(series: StoredEvent, from: number, to: number): StoredEvent[] {
    const exceptions = new Map(
      this.exceptionsOf(series.event.id).map((stored) => [stored.event.id, stored]),
    );
    const isInRange = (stored: StoredEvent) => {
      const [start, end] = this.rangeOf(stored.event);
      return start < to && end > from;
    };
    // An instance that began before the range may still end in it.
    const [begin, end] = this.rangeOf(series.event);
    const last = Math.min(to, Math.max(this.#now(), from, begin) + HORIZON);
    const made = startsOf(series.event, from - (end - begin), last, this.zone)
      .map((start) => this.#instance(series, start))
      .filter(({ event }) => !exceptions.has(event.id));
    return [...made, ...exceptions.values()].filter(isInRange);
  }

  /** Start and end in milliseconds. */
  rangeOf({ start, end, originalStartTime }: GoogleEvent): [start: number, end: number] {
    const first = instantOf(start ?? originalStartTime ?? {}, this.zone);
    return [first, end ? instantOf(end, this.zone) : first];
  }

  #instance({ event: series, version }: StoredEvent, at: number): StoredEvent {
    const { recurrence: _, ...rest } = series;
    const [start, end] = this.rangeOf(series);
    const original = timeLike(series.start ?? {}, at, this.zone);
    const event: GoogleEvent = {
      ...rest,
      id: `${partOf(series.id)}_${instanceSuffix(original, this.zone)}`,
      recurringEventId: series.id,
      originalStartTime: original,
      start: original,
      end: timeLike(series.end ?? {}, at + (end - start), this.zone),
    };
    return { event, version };
  }
}
