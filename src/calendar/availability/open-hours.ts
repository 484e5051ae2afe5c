import { offsetMs } from '../../platform/base/time/time-zone.ts';
import { mergeSpans, type Span } from './spans.ts';

/** When a person can be met: on these weekdays, between two local times of the zone. */
export interface OpenHours {
  /** Monday is 0. */
  days: readonly number[];
  /** IANA name. */
  timezone: string;
  /** Minutes since midnight. */
  startMinute: number;
  /** Minutes since midnight, exclusive. A value not later than the start means the next day. */
  endMinute: number;
}

const DAY_S = 86_400;
/** Larger than any offset from UTC that a zone has ever had, in seconds. */
const FURTHEST_S = 16 * 3_600;

const offsetS = (zone: string, instant: number): number => offsetMs(zone, instant * 1_000) / 1_000;
const weekdayOf = (day: number): number => (((day + 3) % 7) + 7) % 7;

/**
 * The time spans during which local clocks show a time within `wall`. When clocks are put forward
 * there may be none; when they are put back there may be two.
 * @param wall local time, written as if it were UTC
 */
function instantsShowing(wall: Span, zone: string): Span[] {
  let [low, high] = [wall.start - FURTHEST_S, wall.end + FURTHEST_S];
  const [before, after] = [offsetS(zone, low), offsetS(zone, high)];
  const first = { start: wall.start - before, end: wall.end - before };
  if (before === after) return [first];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetS(zone, middle) === before) low = middle;
    else high = middle;
  }
  return [
    { start: first.start, end: Math.min(first.end, high) },
    { start: Math.max(wall.start - after, high), end: wall.end - after },
  ];
}

/**
 * All time in `range` that any of the hours allow, merged. Hours that begin before the range or end
 * after it may reach beyond it.
 */
export function openSpans(hours: readonly OpenHours[], range: Span): Span[] {
  const spans: Span[] = [];
  for (const { days, timezone, startMinute, endMinute } of hours) {
    const wanted = new Set(days);
    const length = (endMinute - startMinute) * 60 + (endMinute <= startMinute ? DAY_S : 0);
    // Hours of the previous day may last until today, and local days begin earlier or later than
    // UTC days.
    const last = Math.floor((range.end + FURTHEST_S) / DAY_S);
    for (let day = Math.floor((range.start - FURTHEST_S) / DAY_S) - 1; day <= last; day += 1) {
      if (!wanted.has(weekdayOf(day))) continue;
      const start = day * DAY_S + startMinute * 60;
      spans.push(...instantsShowing({ start, end: start + length }, timezone));
    }
  }
  return mergeSpans(spans);
}
