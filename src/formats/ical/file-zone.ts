import ICAL from 'ical.js';
import { instantOfWall } from '../../platform/base/time/time-zone.ts';

/*
 * Time zones that only a calendar file describes (RFC 5545 3.6.5). All clock changes of a zone are
 * computed once, for a limited range of years. The ical.js library would compute them again for
 * each later year, starting from the first one.
 */

/**
 * First and last year for which rules are expanded. An earlier time gets the offset before the
 * earliest change; a later time is read as UTC.
 */
const FIRST_YEAR = 1900;
export const LAST_YEAR = 2200;
const MOST_OBSERVANCES = 20;
const MOST_DATES = 200;
const DAY_MS = 86_400_000;
const WEEKDAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

interface Change {
  /** The first instant with the new offset. */
  atMs: number;
  /** Offsets from UTC before and after the change. */
  fromMs: number;
  toMs: number;
}

/** A time zone described by a VTIMEZONE. */
export class FileZone {
  readonly #changes: readonly Change[];

  /** @param zone the VTIMEZONE; parts that are not supported are skipped */
  constructor(zone: ICAL.Component) {
    this.#changes = zone
      .getAllSubcomponents()
      .slice(0, MOST_OBSERVANCES)
      .flatMap(changesOf)
      .toSorted((a, b) => a.atMs - b.atMs);
  }

  /** Offset from UTC at an instant, in milliseconds. */
  offsetMs(instantMs: number): number {
    let [low, high] = [0, this.#changes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#changes[middle]!.atMs <= instantMs) low = middle + 1;
      else high = middle;
    }
    return low > 0 ? this.#changes[low - 1]!.toMs : (this.#changes[0]?.fromMs ?? 0);
  }

  /**
   * The instant at which local clocks show a wall time.
   * @param wallMs wall time, written as if the zone were UTC
   */
  instantOf(wallMs: number): number {
    return instantOfWall(wallMs, (at) => this.offsetMs(at));
  }

  changesBetween(startMs: number, endMs: number): Change[] {
    return this.#changes.filter(
      ({ atMs, fromMs, toMs }) => atMs >= startMs && atMs < endMs && fromMs !== toMs,
    );
  }
}

function offsetIn(observance: ICAL.Component, name: string): number | null {
  const value = observance.getFirstPropertyValue(name);
  return value instanceof ICAL.UtcOffset ? value.toSeconds() * 1000 : null;
}

function changesOf(observance: ICAL.Component): Change[] {
  const [fromMs, toMs] = [offsetIn(observance, 'tzoffsetfrom'), offsetIn(observance, 'tzoffsetto')];
  const start = observance.getFirstPropertyValue('dtstart');
  if (fromMs === null || toMs === null || !(start instanceof ICAL.Time)) return [];
  const rule = observance.getFirstProperty('rrule')?.getFirstValue();
  const walls = [
    wallOf(start),
    ...datesOf(observance),
    ...(rule ? yearly(String(rule), start, fromMs) : []),
  ];
  return [...new Set(walls)].map((wallMs) => ({ atMs: wallMs - fromMs, fromMs, toMs }));
}

function wallOf(time: ICAL.Time): number {
  return Date.UTC(time.year, time.month - 1, time.day, time.hour, time.minute, time.second);
}

function datesOf(observance: ICAL.Component): number[] {
  const values: unknown[] = observance.getAllProperties('rdate').slice(0, MOST_DATES).flatMap((one) => one.getValues()); // prettier-ignore
  return values
    .slice(0, MOST_DATES)
    .flatMap((value) => (value instanceof ICAL.Time ? wallOf(value) : []));
}

/**
 * Supported rules: one change a year, on a date or on the n-th or last weekday of a month. Other
 * rules are skipped.
 */
const PART =
  /^(FREQ=YEARLY|INTERVAL=1|WKST=\w\w|UNTIL=\w+|BYMONTH=(\d|1[0-2])|BYDAY=[+-]?[1-5](MO|TU|WE|TH|FR|SA|SU))$/;

/** Wall times of the clock changes of a rule. */
function yearly(rule: string, start: ICAL.Time, fromMs: number): number[] {
  const parts = rule.split(';');
  if (!parts.every((part) => PART.test(part))) return [];
  const values = new Map(parts.map((part) => part.split('=', 2) as [string, string]));
  const byDay = /^([+-]?\d)(\w\w)$/.exec(values.get('BYDAY') ?? '');
  const byMonth = values.get('BYMONTH');
  // Without a month this would be the n-th weekday of the year, which no real zone uses.
  if (byDay && byMonth === undefined) return [];
  const month = Number(byMonth ?? start.month) - 1;
  const last = untilMs(values.get('UNTIL'), fromMs);
  const timeMs = wallOf(start) - Date.UTC(start.year, start.month - 1, start.day);
  const found: number[] = [];
  for (let year = Math.max(start.year, FIRST_YEAR); year <= LAST_YEAR; year += 1) {
    const dayMs = byDay
      ? nthWeekday(year, month, Number(byDay[1]), WEEKDAYS.indexOf(byDay[2] ?? ''))
      : Date.UTC(year, month, start.day);
    const wallMs = dayMs + timeMs;
    if (wallMs > last) break;
    if (wallMs >= wallOf(start) && new Date(dayMs).getUTCMonth() === month) found.push(wallMs);
  }
  return found;
}

/** The last wall time of a rule. */
function untilMs(until: string | undefined, fromMs: number): number {
  if (until === undefined) return Infinity;
  const match = /^(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d):?(\d\d)(Z)?)?$/.exec(until);
  if (!match) return Infinity;
  const [year = 0, month = 1, day = 1, hour = 23, minute = 59, second = 59] = match
    .slice(1, 7)
    .map((part) => (part === undefined ? undefined : Number(part)));
  return Date.UTC(year, month - 1, day, hour, minute, second) + (match[7] ? fromMs : 0);
}

function nthWeekday(year: number, month: number, nth: number, weekday: number): number {
  if (nth > 0) {
    const first = new Date(Date.UTC(year, month, 1)).getUTCDay();
    return Date.UTC(year, month, 1 + ((weekday - first + 7) % 7)) + (nth - 1) * 7 * DAY_MS;
  }
  const end = Date.UTC(year, month + 1, 0);
  return end - ((new Date(end).getUTCDay() - weekday + 7) % 7) * DAY_MS + (nth + 1) * 7 * DAY_MS;
}
