import { isId } from '../../../platform/base/ids/ids.ts';
import type { EventRecord } from '../event-record.ts';
import type { Recurrence } from '../event-values.ts';
import { boundsOf, isAllDay } from '../when.ts';
import type { Occurrence, Series } from './series.ts';

/** A recurring event as far as its instances need it. */
export interface SeriesEvent extends EventRecord {
  recurrence: Recurrence;
  /** Of all-day events. */
  zone: string;
}

/** Which instance of which series an id means. */
export interface InstanceName {
  masterId: string;
  /** When it begins by the rules: `Occurrence.startMs`. */
  startMs: number;
}

const NAME = /^([0-9a-f-]{36})_(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})Z)?$/i;

const digits = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');

/**
 * The id of an instance: that of its series, and when it begins by the rules, in UTC; of all-day events the day. It stays
 * the same whatever happens to the other instances.
 */
export function instanceId(master: Pick<SeriesEvent, 'id' | 'when'>, startMs: number): string {
  return `${master.id}_${instanceStamp(startMs, isAllDay(master.when))}`;
}

/** The part of an instance's id that tells when it begins by the rules; providers are told the same. */
export function instanceStamp(startMs: number, allDay: boolean): string {
  return allDay ? digits(startMs).slice(0, 8) : digits(startMs);
}

/** Reads an id of `instanceId`; undefined: it is none. */
export function readInstanceId(id: string): InstanceName | undefined {
  const match = NAME.exec(id);
  const [masterId = '', year, month, day, hour = 0, minute = 0, second = 0] = match?.slice(1) ?? [];
  if (!match || !isId(masterId)) return undefined;
  const startMs = Date.UTC(
    Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second),
  ); // prettier-ignore
  // The 31st of April is nobody's day, although it would be carried over into May.
  const stamp = match[0].slice(masterId.length + 1).toUpperCase();
  if (Number.isNaN(startMs) || !digits(startMs).startsWith(stamp)) return undefined;
  return { masterId: masterId.toLowerCase(), startMs };
}

/** An instance as an event: what its series says, at its own time. */
export function instanceOf(master: SeriesEvent, { startMs, when }: Occurrence): EventRecord {
  const { zone: _, ...event } = master;
  return {
    ...event,
    id: instanceId(master, startMs),
    when,
    ...boundsOf(when, master.zone),
    recurrence: null,
    // They are those of the series.
    notifications: [],
    masterEventId: master.id,
    originalStart: new Date(startMs),
  };
}

/** Whether an event overlaps or touches what is asked for; absent bounds do not restrict. All comparisons are strict. */
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

/** All-day events begin up to a day from midnight UTC. */
const DAY_MS = 86_400_000;

/**
 * Instances of a series that begin from `fromMs` on and before `beforeMs`, without those that were changed by
 * themselves.
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
