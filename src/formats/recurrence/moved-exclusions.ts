import { instantOfWallTime } from '../../platform/base/time/time-zone.ts';
import { canonicalLines, excludedStarts } from './canonical-lines.ts';
import { wallTimeOf } from './recurrence-lines.ts';
import { openSeries } from './series.ts';
import { firstStart, lastsDays, type Recurrence, type SeriesSource } from './series-source.ts';

const isExclusion = (line: string): boolean => /^EXDATE[;:]/i.test(line);

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
 * The recurrence of a series that was moved: its deleted instances move along and stay deleted.
 * Exclusions that no instance of the moved series has are dropped (RFC 5545 3.8.5.1 knows none).
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
  const rules = before.recurrence.rrule.filter((line) => !isExclusion(line));
  const excluded = old.flatMap((line) => {
    const source = { ...before, recurrence: { ...before.recurrence, rrule: [...rules, line] } };
    return excludedStarts(line, source);
  });
  const rest = recurrence.rrule.filter((line) => !old.includes(line));
  const series = openSeries({ ...after, recurrence: { ...recurrence, rrule: rest } });
  const moved = [...new Set([...excluded, ...deleted])]
    .flatMap((startMs) => movedStart(startMs, before, after) ?? [])
    .filter((startMs) => series.at(startMs) !== undefined);
  const lines = moved.map((startMs) => lineFor(startMs, lastsDays(after.when)));
  return { ...recurrence, rrule: [...rest, ...canonicalLines({ ...after, recurrence: { ...recurrence, rrule: lines } })] }; // prettier-ignore
}

function lineFor(startMs: number, allDay: boolean): string {
  const stamp = new Date(startMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return allDay ? `EXDATE;VALUE=DATE:${stamp.slice(0, 8)}` : `EXDATE:${stamp}`;
}
