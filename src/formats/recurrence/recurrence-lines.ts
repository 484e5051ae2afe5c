import { instantOfWallTime, isTimeZone, offsetMs } from '../../platform/base/time/time-zone.ts';

/*
 * Parses the lines of a recurrence (RFC 5545 3.3.10 and 3.8.5.1). Rules refer to wall time: what
 * the clocks of a zone show, stored as if that were UTC. Ends and exclusions are instants, because
 * two wall times can mean the same instant when clocks change.
 */

/** A recurrence line that cannot be parsed. */
export class InvalidRecurrenceError extends Error {
  override name = 'InvalidRecurrenceError';
}

/** An RRULE, without the property's name. */
export interface RuleLine {
  /** Names and values in upper case, without UNTIL. */
  text: string;
  frequency: string;
  /**
   * The last instant that counts, in Unix milliseconds; of all-day series the last day, as midnight
   * in UTC. `null` if the rule has no UNTIL.
   */
  untilMs: number | null;
  hasCount: boolean;
}

export interface RecurrenceLines {
  rules: readonly RuleLine[];
  /** Starts that are left out, in Unix milliseconds. */
  excludedMs: ReadonlySet<number>;
  /** Midnights, in wall time, of days on which all occurrences are left out. */
  excludedDaysMs: ReadonlySet<number>;
}

/** The series to which the lines belong. */
export interface SeriesTimes {
  /** IANA name of the recurrence's zone; `UTC` for all-day events. */
  zone: string;
  allDay: boolean;
}

/** Receives a sentence about each line that cannot be read. Absent: such a line is an error. */
export type OnProblem = (problem: string) => void;

const DAY_MS = 86_400_000;
const MOMENT = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z)?)?$/;

/** A DATE or DATE-TIME as written. */
export interface Moment {
  wallMs: number;
  form: 'date' | 'local' | 'utc';
}

/** The wall time that the clocks of a zone show at an instant, as if it were UTC. */
export function wallTimeOf(instantMs: number, zone: string): number {
  return instantMs + offsetMs(zone, instantMs);
}

/** Midnight of the day of a wall time. */
export const midnightOf = (wallMs: number): number => Math.floor(wallMs / DAY_MS) * DAY_MS;

/**
 * The day that a date-time in UTC stands for in an all-day series: programs that write one mean
 * midnight in their own zone. The zone is not known, so it is the day of the nearest midnight.
 */
export const nearestDay = (utcMs: number): number => midnightOf(utcMs + DAY_MS / 2);

/** @throws {InvalidRecurrenceError} */
export function readMoment(value: string): Moment {
  const match = MOMENT.exec(value.trim().toUpperCase());
  const [year, month, day, hour = 0, minute = 0, second = 0] = (match ?? [])
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const wallMs = match ? Date.UTC(year ?? 0, (month ?? 0) - 1, day, hour, minute, second) : NaN;
  // `Date.UTC` turns the 31st of April into the 1st of May.
  if (!match || new Date(wallMs).getUTCDate() !== day || hour > 23 || minute > 59)
    throw new InvalidRecurrenceError(
      `"${value.slice(0, 40)}" is not a date or time such as 20300131T090000Z`,
    );
  return { wallMs, form: match[4] === undefined ? 'date' : match[7] ? 'utc' : 'local' };
}

/** Instant of a date-time. */
function instantOf({ wallMs, form }: Moment, zone: string): number {
  return form === 'utc' ? wallMs : instantOfWallTime(wallMs, zone).getTime();
}

/** The last instant, or the last day, that an UNTIL includes. */
export function untilOf(value: string, { zone, allDay }: SeriesTimes): number {
  const moment = readMoment(value);
  if (allDay) return midnightOf(moment.wallMs);
  // UNTIL without a time includes the whole day.
  if (moment.form === 'date') return instantOfWallTime(moment.wallMs + DAY_MS, zone).getTime() - 1;
  return instantOf(moment, zone);
}

function readRule(text: string, times: SeriesTimes): RuleLine {
  const parts = new Map<string, string>();
  for (const part of text.split(';').filter(Boolean)) {
    const [name = '', value = ''] = part.toUpperCase().split('=', 2);
    if (value === '') throw new InvalidRecurrenceError(`"${part.slice(0, 40)}" has no value`);
    if (parts.has(name)) throw new InvalidRecurrenceError(`${name.slice(0, 40)} is given twice`);
    parts.set(name, value);
  }
  const until = parts.get('UNTIL');
  if (until !== undefined && parts.has('COUNT'))
    throw new InvalidRecurrenceError('COUNT and UNTIL cannot be used together');
  parts.delete('UNTIL');
  return {
    text: [...parts].map(([name, value]) => `${name}=${value}`).join(';'),
    frequency: parts.get('FREQ') ?? '',
    untilMs: until === undefined ? null : untilOf(until, times),
    hasCount: parts.has('COUNT'),
  };
}

/** An EXDATE line: its values, and its TZID without quotes. */
export function splitExclusion(line: string): { tzid: string | undefined; values: string[] } {
  const [head = ''] = /^(?:[^:"]|"[^"]*")*:/.exec(line) ?? [];
  const tzid = /;TZID=("[^"]*"|[^;:]*)/i.exec(head)?.[1]?.replaceAll('"', '');
  return { tzid, values: line.slice(head.length).split(',', MOST_EXCLUSIONS) };
}

interface Exclusion {
  ms: number;
  isDay: boolean;
}

function readExclusions(line: string, times: SeriesTimes, attempt: Attempt): Exclusion[] {
  const { tzid, values } = splitExclusion(line);
  const { zone, allDay } = times;
  return values.flatMap((value) =>
    attempt(line, () => {
      const moment = readMoment(value);
      const { wallMs, form } = moment;
      if (allDay)
        return { ms: form === 'utc' ? nearestDay(wallMs) : midnightOf(wallMs), isDay: true };
      if (form === 'date') return { ms: wallMs, isDay: true };
      if (form === 'local' && tzid !== undefined && !isTimeZone(tzid))
        throw new InvalidRecurrenceError(
          `"${tzid.slice(0, 60)}" is not the name of an IANA time zone`,
        );
      return { ms: instantOf(moment, tzid ?? zone), isDay: false };
    }),
  );
}

/**
 * Most rules of one event. Every rule is expanded separately for each response, and mirrored events
 * may have more.
 */
export const MOST_RULES = 10;
/** Most EXDATE lines that are read, and most dates of one line. */
export const MOST_EXCLUSIONS = 1_000;

type Attempt = <T>(line: string, work: () => T) => T[];

/**
 * Returns a function that runs a piece of work on a line and returns its result in a list. If the
 * line cannot be read, the list is empty and the problem is reported.
 */
export function attempting(onProblem: OnProblem | undefined): Attempt {
  return (line, work) => {
    try {
      return [work()];
    } catch (error) {
      if (!onProblem || !(error instanceof InvalidRecurrenceError)) throw error;
      onProblem(`"${line.slice(0, 100)}" is left out: ${error.message}`);
      return [];
    }
  };
}

/**
 * Reads RRULE and EXDATE lines; other lines are ignored.
 * @param onProblem receives lines that are left out because they cannot be read; absent: they are
 *   an error
 * @throws {InvalidRecurrenceError}
 */
export function readRecurrenceLines(
  lines: readonly string[],
  times: SeriesTimes,
  onProblem?: OnProblem,
): RecurrenceLines {
  const attempt = attempting(onProblem);
  const ruleLines = lines.filter((line) => /^RRULE:/i.test(line));
  if (!onProblem && ruleLines.length === 0)
    throw new InvalidRecurrenceError(
      'there is no RRULE line; give at least one, such as RRULE:FREQ=DAILY',
    );
  if (!onProblem && ruleLines.length > MOST_RULES)
    throw new InvalidRecurrenceError(
      `there are more than ${MOST_RULES} RRULE lines; at most ${MOST_RULES} are allowed`,
    );
  const rules = ruleLines
    .slice(0, MOST_RULES)
    .flatMap((line) => attempt(line, () => readRule(line.slice('RRULE:'.length), times)));
  const exclusions = lines
    .filter((line) => /^EXDATE[;:]/i.test(line))
    .slice(0, MOST_EXCLUSIONS)
    .flatMap((line) => readExclusions(line, times, attempt));
  const msOf = (isDay: boolean) =>
    new Set(exclusions.filter((one) => one.isDay === isDay).map(({ ms }) => ms));
  return { rules, excludedMs: msOf(false), excludedDaysMs: msOf(true) };
}
