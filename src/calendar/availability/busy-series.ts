import type { Recurrence, When } from '../events/event-values.ts';
import { TooManyOccurrencesError } from '../../formats/recurrence/rules.ts';
import { openSeries, type Series } from '../../formats/recurrence/series.ts';
import { boundsOf } from '../events/when/when.ts';
import type { BusySeries } from './busy.repository.ts';
import type { Span } from './spans.ts';

/** One instance of a series. */
export interface BusyInstance extends Span {
  /** Start according to the rules, as in `Occurrence`; `null` for the series as a whole. */
  startMs: number | null;
}

/** A parsed series. */
interface Reading {
  when: When;
  series: Series;
  /** Whether all instances are equally long, in seconds. */
  isUniform: boolean;
  /** True if its rules took too long before; they are not expanded again. */
  tooMuch?: boolean;
}

/** All-day events begin up to a day away from midnight UTC. */
const DAY_MS = 86_400_000;

/**
 * Rules that take longer than this in one request are not expanded again. Usual rules take
 * microseconds.
 */
const MOST_MS = 100;
/** Most parsed series in the cache, and the longest source text of one: about 20 MB. */
const MOST_READINGS = 5_000;
const LONGEST_KEPT = 2_000;
/** Parsed series by their source text, so that no entry can become stale; oldest first. */
const readings = new Map<string, Reading>();

function read({ when: whenText, recurrence }: BusySeries): Reading {
  const key = `${whenText}${recurrence}`;
  const known = readings.get(key);
  if (known) return known;
  const when = JSON.parse(whenText) as When;
  const rules = JSON.parse(recurrence) as Recurrence;
  const isUniform = when.object === 'timespan' && rules.nominalDays === undefined;
  const reading = { when, isUniform, series: openSeries({ when, recurrence: rules }) };
  if (key.length > LONGEST_KEPT) return reading;
  if (readings.size >= MOST_READINGS) readings.delete(readings.keys().next().value ?? '');
  readings.set(key, reading);
  return reading;
}

/**
 * The instances of a series that reach into `range`, without changed instances. If there are too
 * many instances, all time from the first start counts as busy.
 */
export function busyInstances(event: BusySeries, range: Span): BusyInstance[] {
  const { zone, replaced } = event;
  const reading = read(event);
  const { when, series, isUniform } = reading;
  const first = { ...spanOf(when, zone), startMs: null };
  const reaches = ({ start, end }: Span): boolean => start < range.end && end > range.start;
  const length = first.end - first.start;
  const began = performance.now();
  try {
    if (reading.tooMuch) throw new TooManyOccurrencesError('its rules took too long before');
    return series
      .startsBetween((range.start - length) * 1_000 - DAY_MS, range.end * 1_000 + DAY_MS)
      .filter((startMs) => !replaced?.includes(startMs))
      .map((startMs) =>
        isUniform
          ? { start: startMs / 1_000, end: startMs / 1_000 + length, startMs }
          : { ...spanOf(series.occurrenceAt(startMs).when, zone), startMs },
      )
      .filter(reaches);
  } catch (error) {
    if (error instanceof TooManyOccurrencesError)
      return [{ ...first, end: range.end }].filter(reaches);
    throw error;
  } finally {
    if (!series.isUsual && performance.now() - began > MOST_MS) reading.tooMuch = true;
  }
}

function spanOf(when: When, zone: string): Span {
  if (when.object === 'timespan') return { start: when.start_time, end: when.end_time };
  const { startsAt, endsAt } = boundsOf(when, zone);
  return { start: startsAt.getTime() / 1_000, end: endsAt.getTime() / 1_000 };
}
