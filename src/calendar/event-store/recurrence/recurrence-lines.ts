import { instantOfWallTime, isTimeZone, offsetMs } from '../../../platform/base/time/time-zone.ts';

/*
 * The lines of a recurrence (RFC 5545 3.3.10 and 3.8.5.1) in wall time: what the clocks of its zone show, as if that
 * were UTC. Rules are about wall time; which instants it means is decided at the very end.
 */

/** A line that cannot be understood. */
export class InvalidRecurrenceError extends Error {
  override name = 'InvalidRecurrenceError';
}

/** A rule, without the property's name. */
export interface RuleLine {
  /** Upper case names and values, without UNTIL. */
  text: string;
  frequency: string;
  /** The last wall time that counts; null: no end by time. */
  untilWallMs: number | null;
  hasCount: boolean;
}

export interface RecurrenceLines {
  rules: readonly RuleLine[];
  /** Wall times that are left out. */
  excludedMs: ReadonlySet<number>;
  /** Days, as midnights, that are left out with everything on them. */
  excludedDaysMs: ReadonlySet<number>;
}

const DAY_MS = 86_400_000;
const MOMENT = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z)?)?$/;

interface Moment {
  wallMs: number;
  isDate: boolean;
}

/** The wall time that clocks of a zone show at an instant, as if it were UTC. */
export function wallTimeOf(instantMs: number, zone: string): number {
  return instantMs + offsetMs(zone, instantMs);
}

/**
 * A DATE or DATE-TIME in the wall time of `zone`.
 * @param ownZone of a value with a TZID; values that end in Z are UTC, others are in `zone` as they are
 */
function readMoment(value: string, zone: string, ownZone?: string): Moment {
  const match = MOMENT.exec(value.trim().toUpperCase());
  const [year, month, day, hour = 0, minute = 0, second = 0] = (match ?? [])
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const wallMs = match ? Date.UTC(year ?? 0, (month ?? 0) - 1, day, hour, minute, second) : NaN;
  // Date.UTC carries the 31st of April over into May.
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
    if (parts.has(name)) throw new InvalidRecurrenceError(`${name.slice(0, 40)} is there twice`);
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
    // A day as the end means all of that day.
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

/** Rules of one event: each is worked out by itself for every answer. Mirrored events may have come in with more. */
export const MOST_RULES = 10;
/** EXDATE lines, and dates of one line, that are followed. */
const MOST_EXCLUSIONS = 1_000;

/**
 * Reads RRULE and EXDATE lines.
 * @param zone IANA name: of the recurrence; `UTC` for all-day events
 * @throws {InvalidRecurrenceError}
 */
export function readRecurrenceLines(lines: readonly string[], zone: string): RecurrenceLines {
  const rules = lines
    .filter((line) => /^RRULE:/i.test(line))
    .map((line) => readRule(line.slice('RRULE:'.length), zone));
  if (rules.length === 0) throw new InvalidRecurrenceError('there is no RRULE');
  if (rules.length > MOST_RULES)
    throw new InvalidRecurrenceError(`there are more than ${MOST_RULES} RRULEs`);
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
