import { instantOfWallTime, isTimeZone } from '../../platform/base/time/time-zone.ts';
import {
  attempting,
  InvalidRecurrenceError,
  midnightOf,
  MOST_EXCLUSIONS,
  nearestDay,
  readMoment,
  splitExclusion,
  untilOf,
  wallTimeOf,
} from './recurrence-lines.ts';
import { TooManyOccurrencesError } from './rules.ts';
import { openSeries } from './series.ts';
import { lastsDays, type SeriesSource } from './series-source.ts';

const DAY_MS = 86_400_000;
/** Most starts of all rules that are computed to compare exclusions with them. */
const MOST_STARTS = 5_000;

/** `20300131T090000Z` */
const utcStamp = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');
const dayStamp = (ms: number): string => utcStamp(ms).slice(0, 8);

/** Whether a line of a recurrence is an EXDATE. */
export const isExclusion = (line: string): boolean => /^EXDATE[;:]/i.test(line);

/**
 * The lines of a recurrence in the forms that RFC 5545 (3.3.10, 3.8.5.1) requires. Clients and
 * other programs give other forms, which not every program reads alike. UNTIL is in UTC, and a date
 * in all-day series. EXDATE is in the zone of the series, and dates in all-day series. Days that
 * are excluded from a series with times become its starts on them, or stay days (`startsOnDays`).
 * @throws {InvalidRecurrenceError}
 */
export function canonicalLines(source: SeriesSource): string[] {
  const known = startsOnDays(source);
  return source.recurrence.rrule.flatMap((line) => canonicalLine(line, source, known));
}

/**
 * Like `canonicalLines`, for one line.
 * @param known starts on the days that the series excludes
 * @throws {InvalidRecurrenceError}
 */
export function canonicalLine(given: string, source: SeriesSource, known: DayStarts): string[] {
  const line = given.trim().replace(/;$/, '');
  if (/^RRULE:/i.test(line)) return [withUntil(line, source)];
  return isExclusion(line) ? exclusionLines(line, source, known) : [line];
}

function withUntil(line: string, { when, recurrence }: SeriesSource): string {
  const allDay = lastsDays(when);
  const zone = allDay ? 'UTC' : recurrence.timezone;
  return line.replace(/(\bUNTIL=)([^;]+)/i, (_, name: string, value: string) => {
    const until = untilOf(value, { zone, allDay });
    return name + (allDay ? dayStamp(until) : utcStamp(until));
  });
}

/** What an EXDATE line excludes. */
export interface Excluded {
  /** Instants, or midnights in UTC of an all-day series. */
  starts: number[];
  /** Days of a series with times, as midnights in wall time: all starts on them are excluded. */
  days: number[];
}

/**
 * Reads an EXDATE line.
 * @throws {InvalidRecurrenceError}
 */
export function excludedBy(line: string, source: SeriesSource): Excluded {
  const { tzid, values } = splitExclusion(line);
  const moments = values.map(readMoment);
  if (lastsDays(source.when)) {
    const dayOf = ({ wallMs, form }: (typeof moments)[number]) =>
      form === 'utc' ? nearestDay(wallMs) : midnightOf(wallMs);
    return { starts: moments.map(dayOf), days: [] };
  }
  const zone = tzid ?? source.recurrence.timezone;
  if (!isTimeZone(zone))
    throw new InvalidRecurrenceError(`"${zone.slice(0, 60)}" is not the name of an IANA time zone`);
  return {
    starts: moments
      .filter(({ form }) => form !== 'date')
      .map(({ wallMs, form }) =>
        form === 'utc' ? wallMs : instantOfWallTime(wallMs, zone).getTime(),
      ),
    days: moments.filter(({ form }) => form === 'date').map(({ wallMs }) => wallMs),
  };
}

function exclusionLines(line: string, source: SeriesSource, known: DayStarts): string[] {
  const { starts, days } = excludedBy(line, source);
  if (lastsDays(source.when)) return dayLines(starts);
  const named = days.flatMap((day) => known?.get(day) ?? []);
  const kept = days.filter((day) => !known?.has(day));
  return [...timeLines([...starts, ...named], source), ...dayLines(kept)];
}

/** An EXDATE line of days, given as their midnights in UTC; empty without days. */
export function dayLines(days: readonly number[]): string[] {
  return days.length === 0 ? [] : [`EXDATE;VALUE=DATE:${days.map(dayStamp).join()}`];
}

function timeLines(starts: readonly number[], { recurrence }: SeriesSource): string[] {
  if (starts.length === 0) return [];
  const { timezone } = recurrence;
  if (timezone === 'UTC' || !starts.every((ms) => isFirstOfItsTime(ms, timezone)))
    return [`EXDATE:${starts.map(utcStamp).join()}`];
  const walls = starts.map((ms) => utcStamp(wallTimeOf(ms, timezone)).slice(0, -1));
  return [`EXDATE;TZID=${timezone}:${walls.join()}`];
}

/** Whether the wall time of an instant stands for it; false in the hour that clocks repeat. */
export function isFirstOfItsTime(ms: number, zone: string): boolean {
  return instantOfWallTime(wallTimeOf(ms, zone), zone).getTime() === ms;
}

/** Starts by their day (its midnight in wall time); `null` if the days must stay days. */
export type DayStarts = ReadonlyMap<number, readonly number[]> | null;

/**
 * The starts of a series on all days that it excludes. A day excludes all of them, but a file has
 * to name each (RFC 5545 3.8.5.1).
 * @returns `null` if the series has too many starts to be expanded once from the first of the days
 *   to the last, or if it would have more exclusions than are read
 */
export function startsOnDays(source: SeriesSource): DayStarts {
  const { when, recurrence } = source;
  const { timezone } = recurrence;
  const attempt = attempting(() => undefined);
  const all = recurrence.rrule
    .filter(isExclusion)
    .flatMap((line) => attempt(line, () => excludedBy(line, source)));
  const found = new Map<number, number[]>();
  for (const { days } of all) for (const day of days) found.set(day, []);
  let count = all.reduce((sum, { starts }) => sum + starts.length, found.size);
  if (found.size === 0) return found;
  if (count > MOST_EXCLUSIONS) return null;
  const rules = recurrence.rrule.filter((line) => !isExclusion(line));
  const days = [...found.keys()];
  const starts = startsFromTo(
    { when, recurrence: { timezone, rrule: rules } },
    instantOfWallTime(Math.min(...days), timezone).getTime(),
    instantOfWallTime(Math.max(...days) + DAY_MS, timezone).getTime(),
  );
  if (!starts) return null;
  for (const startMs of starts) {
    const onDay = found.get(midnightOf(wallTimeOf(startMs, timezone)));
    if (!onDay) continue;
    onDay.push(startMs);
    count += 1;
    if (count > MOST_EXCLUSIONS) return null;
  }
  return found;
}

/**
 * The starts of a series in a time span, from one expansion.
 * @returns `null` if there are too many
 */
export function startsFromTo(
  source: SeriesSource,
  fromMs: number,
  beforeMs: number,
): number[] | null {
  try {
    return openSeries(source).startsBetween(fromMs, beforeMs, MOST_STARTS);
  } catch (error) {
    if (error instanceof TooManyOccurrencesError) return null;
    throw error;
  }
}
