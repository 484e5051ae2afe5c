import { z } from 'zod';
import { nearestDay } from '../../../formats/recurrence/recurrence-lines.ts';
import { windowsName, windowsZone } from '../../../formats/ical/zones/windows-zones.ts';
import { instantOfWallTime, isTimeZone, offsetMs } from '../../../platform/base/time/time-zone.ts';

/* Times and time zones of Graph. Every request prefers times in UTC. */

/** A time without offset, in the zone beside it. */
export const graphTime = z.object({ dateTime: z.string(), timeZone: z.string().nullish() });
export type GraphTime = z.infer<typeof graphTime>;

/** Header value that makes Graph report times in UTC. */
export const IN_UTC = 'outlook.timezone="UTC"';

export const DAY_MS = 86_400_000;

/**
 * The IANA zone of a name of Graph, which is a Windows name as a rule. Zones that Graph does not
 * name (`tzone://Microsoft/Custom`) are read as UTC.
 */
export function zoneOf(name: string | null | undefined): string {
  const zone = windowsZone(name ?? '') ?? name ?? 'UTC';
  return zone === 'Etc/UTC' || !isTimeZone(zone) ? 'UTC' : zone;
}

/** The name of a zone for Graph: its Windows name, else the IANA name, of which Graph has many. */
export function graphZone(zone: string): string {
  return zone === 'UTC' ? 'UTC' : (windowsName(zone) ?? zone);
}

/** Unix milliseconds of a time that Graph reports in UTC. */
export function msOf({ dateTime }: GraphTime): number {
  return Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(dateTime) ? dateTime : `${dateTime.slice(0, 19)}Z`);
}

/** What the clocks of a zone show at an instant, as if the zone were UTC, in milliseconds. */
export function wallMs(ms: number, zone: string): number {
  return ms + offsetMs(zone, ms);
}

/** An instant as the clocks of a zone show it. */
export function graphTimeOf(seconds: number, zone: string): GraphTime {
  const wall = new Date(wallMs(seconds * 1000, zone)).toISOString().slice(0, 19);
  return { dateTime: wall, timeZone: graphZone(zone) };
}

/** Unix milliseconds at which the clocks of a zone show a wall time. */
export function instantMs(wall: number, zone: string): number {
  return instantOfWallTime(wall, zone).getTime();
}

/**
 * The day of an all-day event that an instant stands for, as the day's midnight in UTC.
 * @param zone of the event; if the instant is no midnight there, the nearest midnight in UTC
 *   counts
 */
export function dayOf(ms: number, zone: string | null | undefined): number {
  if (ms % DAY_MS === 0) return ms;
  const wall = wallMs(ms, zoneOf(zone));
  return wall % DAY_MS === 0 ? wall : nearestDay(ms);
}

/** `2030-04-01` */
export const dateText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
