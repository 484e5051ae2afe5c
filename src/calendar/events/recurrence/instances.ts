import { isId } from '../../../platform/base/ids/ids.ts';
import type { EventRecord } from '../event-record.ts';
import type { Recurrence } from '../event-values.ts';
import { boundsOf, inZoneOf, isAllDay } from '../when/when.ts';
import type { Occurrence, Series } from '../../../formats/recurrence/series.ts';

/** A recurring event, with the zone that its instances need. */
export interface SeriesEvent extends EventRecord {
  recurrence: Recurrence;
  /** Zone of all-day events. */
  zone: string;
}

/** The series and the start that an instance's id names. */
export interface InstanceName {
  masterId: string;
  /** Start of the instance according to the rules, as `Occurrence.startMs`. */
  startMs: number;
}

const NAME = /^([0-9a-f-]{36})_(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})Z)?$/i;

const digits = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');

/**
 * The id of an instance: the id of its series and the start by the rules, in UTC. For all-day
 * events the start is the day. The id stays the same when other instances are changed.
 */
export function instanceId(master: Pick<SeriesEvent, 'id' | 'when'>, startMs: number): string {
  return `${master.id}_${instanceStamp(startMs, isAllDay(master.when))}`;
}

/**
 * The part of an instance's id that names its start by the rules. Provider writes use the same
 * text.
 */
export function instanceStamp(startMs: number, allDay: boolean): string {
  return allDay ? digits(startMs).slice(0, 8) : digits(startMs);
}

/** Reads an id made by `instanceId`; `undefined` if `id` is not one. */
export function readInstanceId(id: string): InstanceName | undefined {
  const match = NAME.exec(id);
  const [masterId = '', year, month, day, hour = 0, minute = 0, second = 0] = match?.slice(1) ?? [];
  if (!match || !isId(masterId)) return undefined;
  const startMs = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  // `Date.UTC` turns the 31st of April into the 1st of May, so such an id is rejected.
  const stamp = match[0].slice(masterId.length + 1).toUpperCase();
  if (Number.isNaN(startMs) || !digits(startMs).startsWith(stamp)) return undefined;
  return { masterId: masterId.toLowerCase(), startMs };
}

/** The fields in which an instance differs from its series. */
export function fieldsOfInstance(
  { recurrence, zone }: Pick<SeriesEvent, 'recurrence' | 'zone'>,
  { when }: Occurrence,
): Pick<EventRecord, 'when' | 'startsAt' | 'endsAt' | 'recurrence'> {
  const own = inZoneOf(when, when, recurrence.timezone);
  return { when: own, ...boundsOf(when, zone), recurrence: null };
}

/** An instance as an event: the fields of its series, at its own time. */
export function instanceOf(master: SeriesEvent, occurrence: Occurrence): EventRecord {
  const { zone: _, ...event } = master;
  return {
    ...event,
    ...fieldsOfInstance(master, occurrence),
    id: instanceId(master, occurrence.startMs),
    // Notifications belong to the series.
    notifications: [],
    masterEventId: master.id,
    originalStart: new Date(occurrence.startMs),
  };
}

/**
 * Bounds for the start and the end of events. All comparisons are strict; an absent bound does not
 * restrict.
 */
export interface TimeBounds {
  startsBefore?: Date | undefined;
  startsAfter?: Date | undefined;
  endsBefore?: Date | undefined;
  endsAfter?: Date | undefined;
}

export function isWithin({ startsAt, endsAt }: EventRecord, bounds: TimeBounds): boolean {
  return (
    (!bounds.startsBefore || startsAt < bounds.startsBefore) &&
    (!bounds.startsAfter || startsAt > bounds.startsAfter) &&
    (!bounds.endsBefore || endsAt < bounds.endsBefore) &&
    (!bounds.endsAfter || endsAt > bounds.endsAfter)
  );
}

/** All-day events begin up to a day before or after midnight UTC. */
const DAY_MS = 86_400_000;

/**
 * Instances of a series that begin at `fromMs` or later and before `beforeMs`. Instances that were
 * changed on their own are left out.
 * @throws {TooManyOccurrencesError}
 */
export function instancesBetween(
  master: SeriesEvent & { replaced: readonly number[] },
  series: Series,
  fromMs: number,
  beforeMs: number,
): EventRecord[] {
  const replaced = new Set(master.replaced);
  return series
    .between(fromMs - DAY_MS, beforeMs + DAY_MS)
    .filter(({ startMs }) => !replaced.has(startMs))
    .map((occurrence) => instanceOf(master, occurrence))
    .filter(({ startsAt }) => startsAt.getTime() >= fromMs && startsAt.getTime() < beforeMs);
}
