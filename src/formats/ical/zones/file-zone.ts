import ICAL from 'ical.js';
import { instantOfWall } from '../../../platform/base/time/time-zone.ts';
import { InvalidRecurrenceError, readRecurrenceLines } from '../../recurrence/recurrence-lines.ts';
import { openRule, timesOf, TooManyOccurrencesError } from '../../recurrence/rules.ts';

/*
 * Time zones that a calendar file describes (RFC 5545 3.6.5). All clock changes of a zone are
 * computed once, for a limited range of years, by the same rules as recurring events.
 */

/**
 * First and last year for which rules are expanded. An earlier time gets the offset before the
 * earliest change, a later time that after the last one.
 */
const FIRST_YEAR = 1900;
const LAST_YEAR = 2200;
const MOST_OBSERVANCES = 20;
const MOST_DATES = 200;
const MOST_RULES = 2;

interface Change {
  /** The first instant with the new offset. */
  atMs: number;
  /** Offsets from UTC before and after the change. */
  fromMs: number;
  toMs: number;
}

/** An observance: STANDARD or DAYLIGHT, with its offsets. */
interface Observance {
  component: ICAL.Component;
  fromMs: number;
  toMs: number;
}

/** A time zone described by a VTIMEZONE. */
export class FileZone {
  readonly #changes: readonly Change[];

  /**
   * @param zone the VTIMEZONE
   * @param onProblem receives a sentence about each part that is left out
   */
  constructor(zone: ICAL.Component, onProblem: (problem: string) => void = () => undefined) {
    const all = observancesOf(zone);
    this.#changes = all
      .flatMap((one) => changesOf(one, all.length, onProblem))
      .toSorted((a, b) => a.atMs - b.atMs);
  }

  /** Whether the VTIMEZONE says any offset. */
  get isUsable(): boolean {
    return this.#changes.length > 0;
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

/**
 * The observances of a zone. A missing offset is that of another observance: clocks change from the
 * offset that is left to the one that begins.
 */
function observancesOf(zone: ICAL.Component): Observance[] {
  const all = zone
    .getAllSubcomponents()
    .slice(0, MOST_OBSERVANCES)
    .map((component) => ({
      component,
      fromMs: offsetIn(component, 'tzoffsetfrom'),
      toMs: offsetIn(component, 'tzoffsetto'),
    }));
  return all.flatMap(({ component, fromMs, toMs }) => {
    const others = all.filter((other) => other.component !== component);
    const to = toMs ?? others.find((other) => other.fromMs !== null)?.fromMs ?? fromMs;
    if (to === null) return [];
    const before = others.find((other) => other.toMs !== null && other.toMs !== to)?.toMs;
    return [{ component, fromMs: fromMs ?? before ?? to, toMs: to }];
  });
}

function changesOf(
  { component, fromMs, toMs }: Observance,
  sharers: number,
  onProblem: (problem: string) => void,
): Change[] {
  const start = component.getFirstPropertyValue('dtstart');
  const startMs = start instanceof ICAL.Time ? wallOf(start) : Date.UTC(FIRST_YEAR, 0, 1);
  const rules = component.getAllProperties('rrule').slice(0, MOST_RULES);
  const walls = [
    startMs,
    ...datesOf(component),
    ...rules.flatMap((rule) => {
      try {
        return wallsOf(String(rule.getFirstValue()), startMs, fromMs, sharers);
      } catch (error) {
        if (!(error instanceof InvalidRecurrenceError || error instanceof TooManyOccurrencesError))
          throw error;
        onProblem(`A rule of a time zone of the file is left out: ${error.message}`);
        return [];
      }
    }),
  ];
  return [...new Set(walls)].map((wallMs) => ({ atMs: wallMs - fromMs, fromMs, toMs }));
}

function wallOf(time: ICAL.Time): number {
  return Date.UTC(time.year, time.month - 1, time.day, time.hour, time.minute, time.second);
}

function datesOf(observance: ICAL.Component): number[] {
  const values: unknown[] = observance
    .getAllProperties('rdate')
    .slice(0, MOST_DATES)
    .flatMap((one) => one.getValues());
  return values
    .slice(0, MOST_DATES)
    .flatMap((value) => (value instanceof ICAL.Time ? wallOf(value) : []));
}

/** Wall times, with the offset before the change, at which a rule changes the clocks. */
function wallsOf(rule: string, startMs: number, fromMs: number, sharers: number): number[] {
  const { rules } = readRecurrenceLines([`RRULE:${rule}`], { zone: 'UTC', allDay: false });
  return rules.flatMap(({ text, untilMs }) => {
    // UNTIL is in UTC, as a rule (RFC 5545 3.6.5).
    const inUtc = /\bUNTIL=[^;]*Z/i.test(rule);
    const endMs = untilMs === null ? Infinity : inUtc ? untilMs + fromMs : untilMs;
    const lastMs = Math.min(endMs, Date.UTC(LAST_YEAR + 1, 0, 1));
    const beginMs = laterBegin(text, startMs);
    if (lastMs < beginMs) return [];
    return timesOf(openRule(text, beginMs, sharers).rule, beginMs, lastMs);
  });
}

/**
 * Windows begins its rules in the year 1601. A rule of every year has the same times if it begins
 * later.
 */
function laterBegin(text: string, startMs: number): number {
  const start = new Date(startMs);
  const isYearly = /^(?!.*\b(?:INTERVAL|COUNT)=).*\bFREQ=YEARLY\b/.test(text);
  const isLeapDay = start.getUTCMonth() === 1 && start.getUTCDate() === 29;
  if (!isYearly || isLeapDay || start.getUTCFullYear() >= FIRST_YEAR) return startMs;
  return start.setUTCFullYear(FIRST_YEAR);
}
