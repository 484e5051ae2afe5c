import { instantOfWallTime } from '../../platform/base/time/time-zone.ts';
import {
  attempting,
  midnightOf,
  type OnProblem,
  type RecurrenceLines,
  type RuleLine,
  readRecurrenceLines,
  wallTimeOf,
} from './recurrence-lines.ts';
import { openRule, type OpenRule, timesOf, TooManyOccurrencesError } from './rules.ts';
import { type EventWhen, firstStart, lastsDays, type SeriesSource } from './series-source.ts';
import { usualRule } from './wall-rule.ts';

/** One time at which a series takes place, according to its rules. */
export interface Occurrence {
  /** Start in Unix milliseconds. For all-day events: midnight of the first day in UTC. */
  startMs: number;
  when: EventWhen;
}

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
/** Years of five digits are not valid in most date formats. */
const END_OF_TIME_MS = Date.parse('9999-12-31T23:59:59Z');

/**
 * Computes when a recurring event takes place (RFC 5545), by RRULE and EXDATE in the zone of the
 * recurrence. A wall time that clocks skip is read with the offset before the gap. A wall time that
 * clocks show twice means the first one (3.3.5). Each occurrence is as long as the first, in
 * seconds or in days. The first start counts only if it matches the rules (ADR 0041). If no rule
 * can be read, only the first start is left.
 */
export class Series {
  readonly #source: SeriesSource;
  readonly #lines: RecurrenceLines;
  readonly #rules: readonly (OpenRule & { line: RuleLine })[];
  readonly #zone: string;
  readonly #beginMs: number;

  /**
   * @param onProblem receives a sentence about each line that is left out because it cannot be
   *   read; absent: such a line is an error
   * @throws {InvalidRecurrenceError}
   */
  constructor(source: SeriesSource, onProblem?: OnProblem) {
    this.#source = source;
    const allDay = lastsDays(source.when);
    this.#zone = allDay ? 'UTC' : source.recurrence.timezone;
    this.#lines = readRecurrenceLines(
      source.recurrence.rrule,
      { zone: this.#zone, allDay },
      onProblem,
    );
    const beginMs = wallTimeOf(firstStart(source.when), this.#zone);
    this.#beginMs = beginMs;
    const { rules } = this.#lines;
    const unusual = rules.filter(({ text }) => usualRule(text, beginMs) === null).length;
    const attempt = attempting(onProblem);
    this.#rules = rules.flatMap((line) =>
      attempt(`RRULE:${line.text}`, () => ({ line, ...openRule(line.text, beginMs, unusual) })),
    );
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
      ({ untilMs, hasCount }) => untilMs === null && !hasCount,
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
      if (counted > MOST_COUNTED) throw new TooManyOccurrencesError();
      timesOf(rule, this.#beginMs, this.#lastWall(line, END_OF_TIME_MS));
    }
  }

  /**
   * Whether the rules match at least once. EXDATEs are ignored.
   * @throws {TooManyOccurrencesError} if the search takes too long
   */
  get hasOccurrences(): boolean {
    return this.#rules.some(({ line: { untilMs }, rule }) => {
      const first = rule.first();
      return first !== null && this.#instantOf(first) <= (untilMs ?? Infinity);
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
   * @param most occurrences of all rules together; by default each rule has its own limit
   * @throws {TooManyOccurrencesError}
   */
  startsBetween(fromMs: number, beforeMs: number, most = Infinity): number[] {
    let left = most;
    const starts = new Set<number>();
    const lastMs = END_OF_TIME_MS - lengthOf(this.#source.when);
    const add = (startMs: number) => {
      const isWithin = startMs >= fromMs && startMs < beforeMs && startMs <= lastMs;
      if (isWithin && !this.excludes(startMs)) starts.add(startMs);
    };
    if (this.#rules.length === 0) add(firstStart(this.#source.when));
    for (const { line, rule } of this.#rules) {
      const { untilMs } = line;
      // Wall time and UTC differ by at most a day.
      const [first, last] = [fromMs - DAY_MS, this.#lastWall(line, beforeMs + DAY_MS)];
      const times = last < first ? [] : timesOf(rule, first, last);
      left -= times.length;
      if (left < 0) throw new TooManyOccurrencesError('it has too many occurrences');
      for (const wallMs of times) {
        const startMs = this.#instantOf(wallMs);
        if (untilMs === null || startMs <= untilMs) add(startMs);
      }
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
    const { excludedMs, excludedDaysMs } = this.#lines;
    if (excludedMs.has(startMs)) return true;
    return (
      excludedDaysMs.size > 0 && excludedDaysMs.has(midnightOf(wallTimeOf(startMs, this.#zone)))
    );
  }

  #instantOf(wallMs: number): number {
    return instantOfWallTime(wallMs, this.#zone).getTime();
  }

  /**
   * The last wall time that a rule can have before `mostMs`: its end, and a day for a clock change.
   */
  #lastWall({ untilMs }: RuleLine, mostMs: number): number {
    if (untilMs === null) return mostMs;
    return Math.min(mostMs, wallTimeOf(untilMs, this.#zone) + DAY_MS);
  }

  #whenAt(startMs: number): EventWhen {
    const { when } = this.#source;
    const seconds = Math.round(startMs / 1000);
    switch (when.object) {
      case 'time':
        return { ...when, time: seconds };
      case 'timespan':
        return { ...when, start_time: seconds, end_time: this.#endAt(when, seconds) };
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

  /** End of the occurrence that begins at `start`; both in Unix seconds. */
  #endAt(first: EventWhen & { object: 'timespan' }, start: number): number {
    const days = this.#source.recurrence.nominalDays ?? 0;
    const afterDays = (seconds: number) =>
      days === 0
        ? seconds
        : this.#instantOf(wallTimeOf(seconds * 1000, this.#zone) + days * DAY_MS) / 1000;
    return afterDays(start) + first.end_time - afterDays(first.start_time);
  }
}

/**
 * Opens a series that may come from another calendar program. Lines that cannot be read are left
 * out; if no rule is left, the series takes place once, at its first time.
 * @param onProblem receives a sentence about each line that is left out
 */
export function openSeries(source: SeriesSource, onProblem: OnProblem = () => undefined): Series {
  return new Series(source, onProblem);
}

/** Milliseconds from the start to the end, or from the first day to the last day. */
function lengthOf(when: EventWhen): number {
  if (when.object === 'timespan') return (when.end_time - when.start_time) * 1000;
  return when.object === 'datespan' ? Date.parse(when.end_date) - Date.parse(when.start_date) : 0;
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
