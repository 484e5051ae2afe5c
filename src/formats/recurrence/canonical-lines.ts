import { instantOfWallTime, isTimeZone } from '../../platform/base/time/time-zone.ts';
import {
  InvalidRecurrenceError, midnightOf, nearestDay, readMoment, splitExclusion, untilOf, wallTimeOf,
} from './recurrence-lines.ts'; // prettier-ignore
import { TooManyOccurrencesError } from './rules.ts';
import { openSeries } from './series.ts';
import { lastsDays, type SeriesSource } from './series-source.ts';

const DAY_MS = 86_400_000;

/** `20300131T090000Z` */
const utcStamp = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');
const dayStamp = (ms: number): string => utcStamp(ms).slice(0, 8);

/**
 * The lines of a recurrence in the forms that RFC 5545 (3.3.10, 3.8.5.1) requires. Clients and
 * other programs give other forms, which not every program reads alike. UNTIL is in UTC, and a date
 * in all-day series. EXDATE is in the zone of the series, and dates in all-day series.
 * @throws {InvalidRecurrenceError}
 */
export function canonicalLines(source: SeriesSource): string[] {
  return source.recurrence.rrule.flatMap((given) => {
    const line = given.trim().replace(/;$/, '');
    if (/^RRULE:/i.test(line)) return [withUntil(line, source)];
    return /^EXDATE[;:]/i.test(line) ? exclusionLine(line, source) : [line];
  });
}

function withUntil(line: string, { when, recurrence }: SeriesSource): string {
  const allDay = lastsDays(when);
  const zone = allDay ? 'UTC' : recurrence.timezone;
  return line.replace(/(\bUNTIL=)([^;]+)/i, (_, name: string, value: string) => {
    const until = untilOf(value, { zone, allDay });
    return name + (allDay ? dayStamp(until) : utcStamp(until));
  });
}

/** The starts that an EXDATE line excludes: instants, or midnights in UTC of an all-day series. */
export function excludedStarts(line: string, source: SeriesSource): number[] {
  const { tzid, values } = splitExclusion(line);
  const moments = values.map(readMoment);
  if (lastsDays(source.when))
    return moments.map(({ wallMs, form }) =>
      form === 'utc' ? nearestDay(wallMs) : midnightOf(wallMs),
    );
  const zone = tzid ?? source.recurrence.timezone;
  if (!isTimeZone(zone))
    throw new InvalidRecurrenceError(`"${zone.slice(0, 60)}" is not the name of an IANA time zone`);
  return moments.flatMap(({ wallMs, form }) => {
    if (form === 'date') return startsOn(wallMs, source);
    return [form === 'utc' ? wallMs : instantOfWallTime(wallMs, zone).getTime()];
  });
}

function exclusionLine(line: string, source: SeriesSource): string[] {
  const starts = excludedStarts(line, source);
  if (starts.length === 0) return [];
  if (lastsDays(source.when)) return [`EXDATE;VALUE=DATE:${starts.map(dayStamp).join()}`];
  const { timezone } = source.recurrence;
  if (timezone === 'UTC' || !starts.every((ms) => isFirstOfItsTime(ms, timezone)))
    return [`EXDATE:${starts.map(utcStamp).join()}`];
  const walls = starts.map((ms) => utcStamp(wallTimeOf(ms, timezone)).slice(0, -1));
  return [`EXDATE;TZID=${timezone}:${walls.join()}`];
}

/** Whether the wall time of an instant stands for it; false in the hour that clocks repeat. */
export function isFirstOfItsTime(ms: number, zone: string): boolean {
  return instantOfWallTime(wallTimeOf(ms, zone), zone).getTime() === ms;
}

/**
 * The starts of a series on a day. A day excludes all of them, but a file has to name each
 * (RFC 5545 3.8.5.1).
 */
function startsOn(dayMs: number, { when, recurrence }: SeriesSource): number[] {
  const { timezone } = recurrence;
  const rrule = recurrence.rrule.filter((line) => !/^EXDATE/i.test(line));
  const [from = 0, before = 0] = [dayMs, dayMs + DAY_MS].map((ms) =>
    instantOfWallTime(ms, timezone).getTime(),
  );
  try {
    return openSeries({ when, recurrence: { timezone, rrule } }).startsBetween(from, before);
  } catch (error) {
    if (error instanceof TooManyOccurrencesError) return [];
    throw error;
  }
}
