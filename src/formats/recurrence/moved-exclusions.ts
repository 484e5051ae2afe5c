import { instantOfWallTime } from '../../platform/base/time/time-zone.ts';
import {
  canonicalLines,
  dayLines,
  excludedBy,
  isExclusion,
  startsFromTo,
} from './canonical-lines.ts';
import { midnightOf, wallTimeOf } from './recurrence-lines.ts';
import { firstStart, lastsDays, type Recurrence, type SeriesSource } from './series-source.ts';

const zoneOf = ({ when, recurrence }: SeriesSource): string =>
  lastsDays(when) ? 'UTC' : recurrence.timezone;

/**
 * The start that an instance has after its series was moved: as much later or earlier, by the
 * clocks, as the first start.
 * @returns `null` if the series changed from times to days or the reverse
 */
export function movedStart(
  startMs: number,
  before: SeriesSource,
  after: SeriesSource,
): number | null {
  if (lastsDays(before.when) !== lastsDays(after.when)) return null;
  const wallOf = (ms: number, source: SeriesSource) => wallTimeOf(ms, zoneOf(source));
  const moved = wallOf(firstStart(after.when), after) - wallOf(firstStart(before.when), before);
  return instantOfWallTime(wallOf(startMs, before) + moved, zoneOf(after)).getTime();
}

/**
 * The day that an excluded day of a series with times becomes: the one to which a start on it at
 * the time of day of the first start moves.
 * @param dayMs midnight in wall time
 */
function movedDay(dayMs: number, before: SeriesSource, after: SeriesSource): number[] {
  if (lastsDays(after.when)) return [];
  const wallOf = (source: SeriesSource) => wallTimeOf(firstStart(source.when), zoneOf(source));
  const [was, is] = [wallOf(before), wallOf(after)];
  return [midnightOf(dayMs + is - midnightOf(was))];
}

/**
 * The recurrence of a series that was moved: its deleted instances move along and stay deleted.
 * Exclusions that no instance of the moved series has are dropped (RFC 5545 3.8.5.1 knows none).
 * Excluded days stay days.
 * @param deleted starts of further deleted instances before the move, in Unix milliseconds
 */
export function withMovedExclusions(
  before: SeriesSource,
  after: SeriesSource,
  deleted: readonly number[] = [],
): Recurrence {
  const { recurrence } = after;
  const old = recurrence.rrule.filter(
    (line) => isExclusion(line) && before.recurrence.rrule.includes(line),
  );
  const excluded = old.map((line) => excludedBy(line, before));
  const rest = recurrence.rrule.filter((line) => !old.includes(line));
  const starts = [...new Set([...excluded.flatMap(({ starts }) => starts), ...deleted])].flatMap(
    (startMs) => movedStart(startMs, before, after) ?? [],
  );
  const moved = startsOf({ ...after, recurrence: { ...recurrence, rrule: rest } }, starts);
  const days = excluded.flatMap(({ days }) => days.flatMap((day) => movedDay(day, before, after)));
  const lines = moved.map((startMs) => lineFor(startMs, lastsDays(after.when)));
  const canonical = canonicalLines({ ...after, recurrence: { ...recurrence, rrule: lines } });
  return { ...recurrence, rrule: [...rest, ...canonical, ...dayLines([...new Set(days)])] };
}

/** Those of the times that are starts of a series; all of them if it takes too long to expand. */
function startsOf(source: SeriesSource, times: readonly number[]): readonly number[] {
  if (times.length === 0) return times;
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const starts = startsFromTo(source, first, last + 1);
  if (!starts) return times;
  const known = new Set(starts);
  return times.filter((ms) => known.has(ms));
}

function lineFor(startMs: number, allDay: boolean): string {
  const stamp = new Date(startMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return allDay ? `EXDATE;VALUE=DATE:${stamp.slice(0, 8)}` : `EXDATE:${stamp}`;
}
