import { z } from 'zod';
import { nearestDay } from '../../../formats/recurrence/recurrence-lines.ts';
import type { GraphEvent } from './graph-event.ts';
import { DAY_MS, dayOf, graphTime, msOf, wallMs, zoneOf } from './graph-time.ts';

/* The starts that the rule of a series gives its instances. Pure functions. */

/** An instance of a series as Graph lists it, without its content. */
export const listedInstance = z.object({
  id: z.string(),
  type: z.string(),
  start: graphTime,
  originalStart: z.string().nullish(),
});
export type ListedInstance = z.infer<typeof listedInstance>;

/** The start of an instance of a series. */
export interface OriginalStart {
  /** Unix milliseconds; of an all-day series the midnight of the day in UTC. */
  originalMs: number;
  /** False if the day of an all-day instance is only the nearest one. */
  isCertain: boolean;
}

/** Zones with another summer time than the one that Exchange knows differ by an hour. */
const SLACK_MS = 3_600_000;

/**
 * Starts of listed instances, in the order of the list.
 *
 * Of an all-day series that somebody made in Outlook, `originalStart` is the midnight of the
 * series' zone, such as 07:00Z. Guests are not told the zone. Then the shift is that of the nearest
 * unchanged instance: its `start` is the day.
 */
export function originalStarts(
  series: GraphEvent,
  listed: readonly ListedInstance[],
): OriginalStart[] {
  const ordinary = series.isAllDay
    ? listed.flatMap(({ type, start, originalStart }) => {
        const day = dayOf(msOf(start), series.originalStartTimeZone);
        return type === 'occurrence' && originalStart
          ? [{ ms: Date.parse(originalStart), day }]
          : [];
      })
    : [];
  return listed.map(({ type, start, originalStart }) => {
    const ms = originalStart ? Date.parse(originalStart) : msOf(start);
    if (!series.isAllDay) return { originalMs: ms, isCertain: true };
    if (type === 'occurrence')
      return { originalMs: dayOf(msOf(start), series.originalStartTimeZone), isCertain: true };
    const day = dayInZone(series, ms) ?? dayBeside(ordinary, ms);
    return { originalMs: day ?? nearestDay(ms), isCertain: day !== null };
  });
}

/** The day of an all-day instance by the zones of its series; `null` if the zones do not fit. */
export function dayInZone({ recurrence, originalStartTimeZone }: GraphEvent, ms: number) {
  if (ms % DAY_MS === 0) return ms;
  for (const name of [recurrence?.range.recurrenceTimeZone, originalStartTimeZone]) {
    const wall = wallMs(ms, zoneOf(name));
    const day = nearestDay(wall);
    if (name && Math.abs(wall - day) <= SLACK_MS) return day;
  }
  return null;
}

function dayBeside(ordinary: readonly { ms: number; day: number }[], ms: number): number | null {
  const distance = (one: { ms: number }) => Math.abs(one.ms - ms);
  const [first, ...others] = ordinary;
  if (!first) return null;
  const nearest = others.reduce((a, b) => (distance(b) < distance(a) ? b : a), first);
  return nearestDay(ms + nearest.day - nearest.ms);
}
