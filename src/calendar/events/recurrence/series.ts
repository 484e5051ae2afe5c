import ICAL from 'ical.js';
import { RRuleTemporal } from 'rrule-temporal';
import { instantOfWallTime } from '../../../platform/base/time/time-zone.ts';
import type { Recurrence, When } from '../event-values.ts';
import { isAllDay } from '../when.ts';
import {
  InvalidRecurrenceError,
  type RecurrenceLines,
  type RuleLine,
  readRecurrenceLines,
  wallTimeOf,
} from './recurrence-lines.ts';
import { usualRule, type WallRule } from './wall-rule.ts';

/** One time at which a series takes place, according to its rules. */
export interface Occurrence {
  /** Start in Unix milliseconds. For all-day events: midnight of the first day in UTC. */
  startMs: number;
  when: When;
}

export interface SeriesSource {
  /** Start and end of the first occurrence. */
  when: When;
  recurrence: Recurrence;
}

/** Most occurrences of a series in one call. */
const MOST_OCCURRENCES = 20_000;
/** Limits on the steps of rrule-temporal. They stop a rule that can never match. */
const LIMITS = { maxIterations: 2_500, maxCandidateEvaluations: 20_000 } as const;
/**
 * Most times of day that BYHOUR, BYMINUTE and BYSECOND may name together: one every five minutes.
 */
const MOST_TIMES_OF_DAY = 288;
const DAY_MS = 86_400_000;
/**
 * Highest sum of the COUNTs of all unusual rules of a series. Such rules are expanded from their
 * start for every response.
 */
const MOST_COUNTED = 2_000;
/**
 * Rules with these frequencies need an end (COUNT or UNTIL), because they would match every second
 * or minute for ever.
 */
const RESTLESS = ['SECONDLY', 'MINUTELY'];
const TOO_LONG = 'it takes too long to expand';
/** Years of five digits are not valid in most date formats. */
const END_OF_TIME_MS = Date.parse('9999-12-31T23:59:59Z');

/** A rule has too many occurrences in the requested time span, or takes too long to expand. */
export class TooManyOccurrencesError extends Error {
  override name = 'TooManyOccurrencesError';
}

/**
 * Computes when a recurring event takes place (RFC 5545), by RRULE and EXDATE in the zone of the
 * recurrence. A wall time that clocks skip is read with the offset before the gap. A wall time that
 * clocks show twice means the first one (3.3.5). Each occurrence is as long as the first, in
 * seconds or in days. The first start counts only if it matches the rules (ADR 0041).
 */
export class Series {
  readonly #source: SeriesSource;
  readonly #lines: RecurrenceLines;
  readonly #rules: readonly { line: RuleLine; rule: WallRule; usual: boolean }[];
  readonly #zone: string;
  readonly #beginMs: number;

  /** @throws {InvalidRecurrenceError} */
  constructor(source: SeriesSource) {
    this.#source = source;
    this.#zone = isAllDay(source.when) ? 'UTC' : source.recurrence.timezone;
    this.#lines = readRecurrenceLines(source.recurrence.rrule, this.#zone);
    const beginMs = wallTimeOf(firstStart(source.when), this.#zone);
    this.#beginMs = beginMs;
    const usualRules = this.#lines.rules.map((line) => usualRule(line.text, beginMs));
    const unusual = usualRules.filter((rule) => rule === null).length;
    this.#rules = this.#lines.rules.map((line, index) => {
      const usual = usualRules[index] ?? null;
      return { line, rule: usual ?? unusualRule(line, beginMs, unusual), usual: usual !== null };
    });
  }

  /** Whether all rules are usual: they can be expanded by arithmetic, which takes microseconds. */
  get isUsual(): boolean {
    return this.#rules.every(({ usual }) => usual);
  }

  /**
   * FREQ of a rule that matches every second or minute and has no end; `undefined` if there is no
   * such rule.
   */
  get endlessFrequency(): string | undefined {
    const endless = this.#lines.rules.filter(
      ({ untilWallMs, hasCount }) => untilWallMs === null && !hasCount,
    );
    return endless.find(({ frequency }) => RESTLESS.includes(frequency))?.frequency;
  }

  /**
   * Checks that the costly rules can be expanded to their end. These are unusual rules with COUNT,
   * and rules that match every second or minute. If their expansion takes too long, lists leave out
   * the whole series.
   * @throws {TooManyOccurrencesError}
   */
  assertExpandable(): void {
    let counted = 0;
    for (const { line, rule, usual } of this.#rules) {
      if (usual || !(line.hasCount || RESTLESS.includes(line.frequency))) continue;
      counted += Number(/\bCOUNT=(\d+)/.exec(line.text)?.[1] ?? 0);
      if (counted > MOST_COUNTED) throw new TooManyOccurrencesError(TOO_LONG);
      timesOf(rule, this.#beginMs, Math.min(line.untilWallMs ?? END_OF_TIME_MS, END_OF_TIME_MS));
    }
  }

  /**
   * Whether the rules match at least once. EXDATEs are ignored.
   * @throws {TooManyOccurrencesError} if the search takes too long
   */
  get hasOccurrences(): boolean {
    return this.#rules.some(({ line: { untilWallMs }, rule }) => {
      const first = rule.first();
      return first !== null && first <= (untilWallMs ?? Infinity);
    });
  }

  /**
   * Occurrences that begin at `fromMs` or later and before `beforeMs`, earliest first. Occurrences
   * that end after the year 9999 are left out.
   * @throws {TooManyOccurrencesError}
   */
  between(fromMs: number, beforeMs: number): Occurrence[] {
    return this.startsBetween(fromMs, beforeMs).map((startMs) => this.occurrenceAt(startMs));
  }

  /**
   * Like `between`, but only the `startMs` of each occurrence, without duplicates.
   * @throws {TooManyOccurrencesError}
   */
  startsBetween(fromMs: number, beforeMs: number): number[] {
    const starts = new Set<number>();
    const lastMs = END_OF_TIME_MS - lengthOf(this.#source.when);
    // Wall time and UTC differ by at most a day.
    for (const wallMs of this.#wallTimes(fromMs - DAY_MS, beforeMs + DAY_MS)) {
      const startMs = instantOfWallTime(wallMs, this.#zone).getTime();
      if (startMs >= fromMs && startMs < beforeMs && startMs <= lastMs) starts.add(startMs);
    }
    return [...starts].sort((a, b) => a - b);
  }

  occurrenceAt(startMs: number): Occurrence {
    return { startMs, when: this.#whenAt(startMs) };
  }

  /**
   * The occurrence that begins at exactly `startMs`; `undefined` if there is none, or if the series
   * is so costly that lists leave it out.
   */
  at(startMs: number): Occurrence | undefined {
    try {
      return this.between(startMs, startMs + 1)[0];
    } catch (error) {
      if (error instanceof TooManyOccurrencesError) return undefined;
      throw error;
    }
  }

  /** Whether an EXDATE leaves out an occurrence at `startMs`. */
  excludes(startMs: number): boolean {
    return this.#isExcluded(wallTimeOf(startMs, this.#zone));
  }

  #wallTimes(fromMs: number, beforeMs: number): number[] {
    return this.#rules.flatMap(({ line: { untilWallMs }, rule }) => {
      const last = Math.min(beforeMs, untilWallMs ?? beforeMs);
      if (last < fromMs) return [];
      return timesOf(rule, fromMs, last).filter((wallMs) => !this.#isExcluded(wallMs));
    });
  }

  #isExcluded(wallMs: number): boolean {
    const { excludedMs, excludedDaysMs } = this.#lines;
    return (
      excludedMs.has(wallMs) || excludedDaysMs.has(wallMs - (((wallMs % DAY_MS) + DAY_MS) % DAY_MS))
    );
  }

  #whenAt(startMs: number): When {
    const { when } = this.#source;
    const seconds = Math.round(startMs / 1000);
    switch (when.object) {
      case 'time':
        return { ...when, time: seconds };
      case 'timespan':
        return {
          ...when,
          start_time: seconds,
          end_time: seconds + when.end_time - when.start_time,
        };
      case 'date':
        return { object: 'date', date: dayOf(startMs) };
      case 'datespan': {
        return {
          object: 'datespan',
          start_date: dayOf(startMs),
          end_date: dayOf(startMs + lengthOf(when)),
        };
      }
    }
  }
}

/**
 * Opens a series that may come from another calendar program; `undefined` if its rules cannot be
 * parsed.
 */
export function openSeries(source: SeriesSource): Series | undefined {
  try {
    return new Series(source);
  } catch (error) {
    if (error instanceof InvalidRecurrenceError) return undefined;
    throw error;
  }
}

/** Start of `when` in Unix milliseconds. For all-day events: midnight of the first day in UTC. */
export function firstStart(when: When): number {
  switch (when.object) {
    case 'time':
      return when.time * 1000;
    case 'timespan':
      return when.start_time * 1000;
    case 'date':
      return Date.parse(when.date);
    case 'datespan':
      return Date.parse(when.start_date);
  }
}

/** Milliseconds from the start to the end, or from the first day to the last day. */
function lengthOf(when: When): number {
  if (when.object === 'timespan') return (when.end_time - when.start_time) * 1000;
  return when.object === 'datespan' ? Date.parse(when.end_date) - Date.parse(when.start_date) : 0;
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** For example `20300131T090000Z`. */
const stamp = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');

/** How many times of day BYHOUR, BYMINUTE and BYSECOND name together. */
function timesOfDay(text: string): number {
  const lists = [...text.matchAll(/\bBY(?:HOUR|MINUTE|SECOND)=([^;]*)/g)];
  return lists.reduce((product, [, list = '']) => product * list.split(',').length, 1);
}

/**
 * Expands any rule with rrule-temporal.
 * @param sharers number of unusual rules in the series; they share the limits on steps
 * @throws {InvalidRecurrenceError}
 */
function unusualRule({ text }: RuleLine, beginMs: number, sharers: number): WallRule {
  if (timesOfDay(text) > MOST_TIMES_OF_DAY)
    throw new InvalidRecurrenceError(
      `BYHOUR, BYMINUTE and BYSECOND name more than ${MOST_TIMES_OF_DAY} times of a day`,
    );
  try {
    // ical.js checks the ranges of all numbers; rrule-temporal does not reject all that are out of
    // range.
    ICAL.Recur.fromString(text);
    const rule = new RRuleTemporal({
      rruleString: `DTSTART:${stamp(beginMs)}\nRRULE:${text}`,
      strict: true,
      cache: false,
      maxIterations: Math.ceil(LIMITS.maxIterations / sharers),
      maxCandidateEvaluations: Math.ceil(LIMITS.maxCandidateEvaluations / sharers),
    });
    return {
      between: (fromMs, lastMs) =>
        bounded(() => rule.between(new Date(fromMs), new Date(lastMs), true)).map(
          ({ epochMilliseconds }) => epochMilliseconds,
        ),
      first: () => bounded(() => rule.next(new Date(beginMs), true))?.epochMilliseconds ?? null,
    };
  } catch (cause) {
    throw new InvalidRecurrenceError(
      cause instanceof Error ? cause.message.slice(0, 200) : 'not a rule',
      {
        cause,
      },
    );
  }
}

/** @throws {TooManyOccurrencesError} */
function timesOf(rule: WallRule, fromMs: number, lastMs: number): number[] {
  const times = rule.between(fromMs, lastMs, MOST_OCCURRENCES);
  if (times.length > MOST_OCCURRENCES)
    throw new TooManyOccurrencesError('it has too many occurrences');
  return times;
}

/**
 * Runs a call of rrule-temporal and translates its errors about too many or too large steps.
 * @throws {TooManyOccurrencesError}
 */
function bounded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('Maximum '))
      throw new TooManyOccurrencesError(TOO_LONG, { cause: error });
    // A single step can lead millions of years ahead.
    if (error instanceof RangeError)
      throw new TooManyOccurrencesError('it leads to dates that are out of range', {
        cause: error,
      });
    throw error;
  }
}
