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

/** One time a series takes place, as its rules say. */
export interface Occurrence {
  /** When it begins: of all-day events midnight of the first day, as if in UTC. Unix milliseconds. */
  startMs: number;
  when: When;
}

export interface SeriesSource {
  /** Of the first one. */
  when: When;
  recurrence: Recurrence;
}

/** Times of one answer of a series: more than anybody looks at. */
const MOST_OCCURRENCES = 20_000;
/** Steps the library may take in search of them; impossible rules end here. */
const LIMITS = { maxIterations: 2_500, maxCandidateEvaluations: 20_000 } as const;
/** Times of a day that BYHOUR, BYMINUTE and BYSECOND may name together: one every five minutes. */
const MOST_TIMES_OF_DAY = 288;
const DAY_MS = 86_400_000;
/** What all unusual rules of a series may count to together: they are counted anew for every answer. */
const MOST_COUNTED = 2_000;
/** FREQ of rules that would be met every moment for ever. */
const RESTLESS = ['SECONDLY', 'MINUTELY'];
const TOO_LONG = 'it takes too long to be worked out';
/** Years of five digits are understood by nobody. */
const END_OF_TIME_MS = Date.parse('9999-12-31T23:59:59Z');

/** A rule has so many times in the span asked for that they are not worth telling. */
export class TooManyOccurrencesError extends Error {
  override name = 'TooManyOccurrencesError';
}

/**
 * A recurring event (RFC 5545): its times by RRULE and EXDATE, in the zone of the recurrence. A wall time that clocks
 * skip is read with the offset before the gap, one they show twice means the first (3.3.5). The length of each is
 * that of the first, in seconds or in days. The first counts only where it matches the rules.
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

  /** Whether all rules are worked out by arithmetic, in microseconds. */
  get isUsual(): boolean {
    return this.#rules.every(({ usual }) => usual);
  }

  /** FREQ of a rule that is met every moment for ever; undefined: there is none. */
  get restlessFrequency(): string | undefined {
    const endless = this.#lines.rules.filter(
      ({ untilWallMs, hasCount }) => untilWallMs === null && !hasCount,
    );
    return endless.find(({ frequency }) => RESTLESS.includes(frequency))?.frequency;
  }

  /**
   * Works out to their end the rules that would have to be followed from their beginning each time, or are met every moment:
   * none of their times could be told where that takes too long.
   * @throws {TooManyOccurrencesError}
   */
  tryOut(): void {
    let counted = 0;
    for (const { line, rule, usual } of this.#rules) {
      if (usual || !(line.hasCount || RESTLESS.includes(line.frequency))) continue;
      counted += Number(/\bCOUNT=(\d+)/.exec(line.text)?.[1] ?? 0);
      if (counted > MOST_COUNTED) throw new TooManyOccurrencesError(TOO_LONG);
      timesOf(rule, this.#beginMs, Math.min(line.untilWallMs ?? END_OF_TIME_MS, END_OF_TIME_MS));
    }
  }

  /**
   * Whether its rules are ever met; exclusions are not looked at.
   * @throws {TooManyOccurrencesError} when that takes too long to be found out
   */
  get takesPlace(): boolean {
    return this.#rules.some(({ line: { untilWallMs }, rule }) => {
      const first = rule.first();
      return first !== null && first <= (untilWallMs ?? Infinity);
    });
  }

  /**
   * What begins from `fromMs` on and before `beforeMs`, earliest first; nothing that goes on beyond the year 9999.
   * @throws {TooManyOccurrencesError}
   */
  between(fromMs: number, beforeMs: number): Occurrence[] {
    return this.startsBetween(fromMs, beforeMs).map((startMs) => this.occurrenceAt(startMs));
  }

  /**
   * `startMs` of the same, each once.
   * @throws {TooManyOccurrencesError}
   */
  startsBetween(fromMs: number, beforeMs: number): number[] {
    const starts = new Set<number>();
    const lastMs = END_OF_TIME_MS - lengthOf(this.#source.when);
    // Wall time and UTC are at most a day apart, on either side.
    for (const wallMs of this.#wallTimes(fromMs - DAY_MS, beforeMs + DAY_MS)) {
      const startMs = instantOfWallTime(wallMs, this.#zone).getTime();
      if (startMs >= fromMs && startMs < beforeMs && startMs <= lastMs) starts.add(startMs);
    }
    return [...starts].sort((a, b) => a - b);
  }

  occurrenceAt(startMs: number): Occurrence {
    return { startMs, when: this.#whenAt(startMs) };
  }

  /** The one that begins at that very moment; undefined: there is none, or none that lists would tell either. */
  at(startMs: number): Occurrence | undefined {
    try {
      return this.between(startMs, startMs + 1)[0];
    } catch (error) {
      if (error instanceof TooManyOccurrencesError) return undefined;
      throw error;
    }
  }

  /** Whether what begins then is left out by an EXDATE. */
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

/** A series that may come from elsewhere; undefined: nobody understands its rules. */
export function openSeries(source: SeriesSource): Series | undefined {
  try {
    return new Series(source);
  } catch (error) {
    if (error instanceof InvalidRecurrenceError) return undefined;
    throw error;
  }
}

/** Of all-day events midnight of the first day, as if in UTC. Unix milliseconds. */
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

/** From its beginning to its end, or to its last day. Milliseconds. */
function lengthOf(when: When): number {
  if (when.object === 'timespan') return (when.end_time - when.start_time) * 1000;
  return when.object === 'datespan' ? Date.parse(when.end_date) - Date.parse(when.start_date) : 0;
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** `20300131T090000Z` */
const stamp = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');

/** How many times of a day the lists of a rule name together. */
function timesOfDay(text: string): number {
  const lists = [...text.matchAll(/\bBY(?:HOUR|MINUTE|SECOND)=([^;]*)/g)];
  return lists.reduce((product, [, list = '']) => product * list.split(',').length, 1);
}

/**
 * Any rule, by the library.
 * @param sharers unusual rules of the series, which share the steps it may take
 * @throws {InvalidRecurrenceError}
 */
function unusualRule({ text }: RuleLine, beginMs: number, sharers: number): WallRule {
  if (timesOfDay(text) > MOST_TIMES_OF_DAY)
    throw new InvalidRecurrenceError(
      `BYHOUR, BYMINUTE and BYSECOND name more than ${MOST_TIMES_OF_DAY} times of a day`,
    );
  try {
    // It knows the ranges of all numbers, and does not go beyond them in silence.
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
  if (times.length > MOST_OCCURRENCES) throw new TooManyOccurrencesError('it has too many times');
  return times;
}

/** @throws {TooManyOccurrencesError} in the place of the library's errors for what takes too many steps, or too long ones */
function bounded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('Maximum '))
      throw new TooManyOccurrencesError(TOO_LONG, { cause: error });
    // A step of millions of years.
    if (error instanceof RangeError)
      throw new TooManyOccurrencesError('it leads to times that there are not', { cause: error });
    throw error;
  }
}
