import { instantOfWallTime, isTimeZone, offsetMs } from '../../../platform/base/time/time-zone.ts';

/*
 * Parses the lines of a recurrence (RFC 5545 3.3.10 and 3.8.5.1) in wall time: what the clocks of
 * its zone show, stored as if that were UTC. Rules refer to wall time; only the results of a rule
 * are turned into instants.
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
  /** The last wall time that counts; `null` if the rule has no UNTIL. */
  untilWallMs: number | null;
  hasCount: boolean;
}

export interface RecurrenceLines {
  rules: readonly RuleLine[];
  /** Wall times that are left out. */
  excludedMs: ReadonlySet<number>;
  /** Midnights of days on which all occurrences are left out. */
  excludedDaysMs: ReadonlySet<number>;
}

const DAY_MS = 86_400_000;
const MOMENT = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z)?)?$/;

interface Moment {
  wallMs: number;
  isDate: boolean;
}

/** The wall time that the clocks of a zone show at an instant, as if it were UTC. */
export function wallTimeOf(instantMs: number, zone: string): number {
  return instantMs + offsetMs(zone, instantMs);
}

/**
 * Parses a DATE or DATE-TIME into the wall time of `zone`.
 * @param ownZone zone of a value with a TZID. A value that ends in Z is in UTC. Any other value
 *   is already in `zone`.
 */
function readMoment(value: string, zone: string, ownZone?: string): Moment {
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
  const isDate = match[4] === undefined;
  if (isDate) return { wallMs, isDate };
  if (match[7]) return { wallMs: wallTimeOf(wallMs, zone), isDate };
  if (ownZone !== undefined && ownZone !== zone)
    return { wallMs: wallTimeOf(instantOfWallTime(wallMs, ownZone).getTime(), zone), isDate };
  return { wallMs, isDate };
}

function readRule(text: string, zone: string): RuleLine {
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
  const end = until === undefined ? null : readMoment(until, zone);
  return {
    text: [...parts].map(([name, value]) => `${name}=${value}`).join(';'),
    frequency: parts.get('FREQ') ?? '',
    // UNTIL without a time includes the whole day.
    untilWallMs: end && (end.isDate ? end.wallMs + DAY_MS - 1 : end.wallMs),
    hasCount: parts.has('COUNT'),
  };
}

function readExclusions(line: string, zone: string): Moment[] {
  const colon = line.indexOf(':');
  const [, ...parameters] = line.slice(0, colon).split(';');
  const tzid = parameters
    .map((parameter) => parameter.split('=', 2))
    .find(([name = '']) => name.toUpperCase() === 'TZID')?.[1]
    ?.replaceAll('"', '');
  if (tzid !== undefined && !isTimeZone(tzid))
    throw new InvalidRecurrenceError(`"${tzid.slice(0, 60)}" is not the name of an IANA time zone`);
  return line
    .slice(colon + 1)
    .split(',', MOST_EXCLUSIONS)
    .map((value) => readMoment(value, zone, tzid));
}

/**
 * Most rules of one event. Every rule is expanded separately for each response, and mirrored events
 * may have more.
 */
export const MOST_RULES = 10;
/** Most EXDATE lines that are read, and most dates of one line. */
const MOST_EXCLUSIONS = 1_000;

/**
 * Reads RRULE and EXDATE lines; other lines are ignored.
 * @param zone IANA name of the recurrence's zone; `UTC` for all-day events
 * @throws {InvalidRecurrenceError}
 */
export function readRecurrenceLines(lines: readonly string[], zone: string): RecurrenceLines {
  const rules = lines
    .filter((line) => /^RRULE:/i.test(line))
    .map((line) => readRule(line.slice('RRULE:'.length), zone));
  if (rules.length === 0)
    throw new InvalidRecurrenceError(
      'there is no RRULE line; give at least one, such as RRULE:FREQ=DAILY',
    );
  if (rules.length > MOST_RULES)
    throw new InvalidRecurrenceError(
      `there are more than ${MOST_RULES} RRULE lines; at most ${MOST_RULES} are allowed`,
    );
  const moments = lines
    .filter((line) => /^EXDATE[;:]/i.test(line))
    .slice(0, MOST_EXCLUSIONS)
    .flatMap((line) => readExclusions(line, zone));
  return {
    rules,
    excludedMs: new Set(moments.filter(({ isDate }) => !isDate).map(({ wallMs }) => wallMs)),
    excludedDaysMs: new Set(moments.filter(({ isDate }) => isDate).map(({ wallMs }) => wallMs)),
  };
}
