import ICAL from 'ical.js';
import { instantOfWall, offsetMs } from '../../../platform/base/time/time-zone.ts';
import { FileZone } from './file-zone.ts';
import { quoted, warn } from '../kept-lines.ts';
import { similarZone } from './similar-zone.ts';
import { vtimezone } from './write-zone.ts';
import { fixedZone, isUtc, namedZone, offsetInName } from './zone-names.ts';

/** The clocks that a TZID of a file stands for. */
export interface Clocks {
  /** Offset from UTC at an instant, in milliseconds. */
  offsetMs(instantMs: number): number;
  /**
   * The IANA zone with the same clock changes in the years around `year`; `undefined` if there is
   * none.
   */
  zoneNear(year: number): string | undefined;
}

/** Most time zones of a file that are read. */
const MOST_ZONES = 20;

function vtimezoneIn(root: ICAL.Component, tzid: string): ICAL.Component | undefined {
  const all = root.getAllSubcomponents('vtimezone').slice(0, MOST_ZONES);
  const nameOf = (zone: ICAL.Component) => String(zone.getFirstPropertyValue('tzid'));
  return (
    all.find((zone) => nameOf(zone) === tzid) ??
    all.find((zone) => nameOf(zone).toLowerCase() === tzid.toLowerCase())
  );
}

/** Clocks by file and TZID. */
const known = new WeakMap<ICAL.Component, Map<string, Clocks | null>>();

/**
 * The clocks of a TZID. The VTIMEZONE of the same file counts before our own names, unless the TZID
 * begins with a slash: such names are globally unique (RFC 5545 3.2.19). If neither is known, an
 * offset in the name is used.
 * @param root the VCALENDAR
 * @returns `undefined` if nothing is known of the zone
 */
export function clocksOf(tzid: string, root: ICAL.Component): Clocks | undefined {
  const ofFile = known.get(root) ?? new Map<string, Clocks | null>();
  known.set(root, ofFile);
  let found = ofFile.get(tzid);
  if (found === undefined) ofFile.set(tzid, (found = findClocks(tzid, root)));
  return found ?? undefined;
}

function findClocks(tzid: string, root: ICAL.Component): Clocks | null {
  const named = namedZone(tzid);
  if (named !== undefined && tzid.startsWith('/')) return clocksOfName(named);
  const component = vtimezoneIn(root, tzid);
  const own = component && new FileZone(component, (problem) => warn(root, problem));
  const location = component?.getFirstPropertyValue('x-lic-location');
  const second = typeof location === 'string' ? namedZone(location) : undefined;
  const likely = [named, second].filter((name) => name !== undefined);
  if (own?.isUsable)
    return {
      offsetMs: (at) => own.offsetMs(at),
      zoneNear: (year) => similarZone(own, year, likely),
    };
  const [name] = likely;
  if (name !== undefined) return clocksOfName(name);
  const offset = offsetInName(tzid);
  if (offset === undefined) {
    warn(root, `The time zone ${quoted(tzid)} is not known: its times are read as UTC`);
    return null;
  }
  warn(root, `The time zone ${quoted(tzid)} is not known: the offset in its name is used`);
  return { offsetMs: () => offset, zoneNear: () => fixedZone(offset) };
}

function clocksOfName(name: string): Clocks {
  if (isUtc(name)) return { offsetMs: () => 0, zoneNear: () => name };
  return { offsetMs: (at) => offsetMs(name, at), zoneNear: () => name };
}

/** The wall time of a value, as if the zone were UTC. */
export function wallMs(time: ICAL.Time): number {
  // `Date.UTC` reads years below 100 as those of the last century.
  const midnight = new Date(0).setUTCFullYear(time.year, time.month - 1, time.day);
  return midnight + ((time.hour * 60 + time.minute) * 60 + time.second) * 1000;
}

/** A date-time of a file: the instant, and the zone in which it was written. */
export interface ZonedInstant {
  readonly seconds: number;
  /**
   * IANA name. For a zone that the file describes: an IANA zone with the same clock changes.
   * `undefined` for UTC, for floating times, and if no IANA zone matches.
   */
  readonly zone: string | undefined;
}

/**
 * The instant of a date-time in a file. (The library would use the host's zone if the file has no
 * VTIMEZONE.) A floating time is read as UTC.
 * @param fallback TZID of a floating time; absent: UTC
 */
export function instantOf(
  property: ICAL.Property,
  time: ICAL.Time,
  root: ICAL.Component,
  fallback?: string,
): ZonedInstant {
  const wall = wallMs(time);
  const tzid = property.getFirstParameter('tzid') ?? fallback;
  // A `Z` takes precedence over a TZID.
  const clocks = tzid && time.zone !== ICAL.Timezone.utcTimezone ? clocksOf(tzid, root) : undefined;
  if (!clocks) return { seconds: wall / 1000, zone: undefined };
  return {
    seconds: instantOfWall(wall, (at) => clocks.offsetMs(at)) / 1000,
    // Computed only on demand. Most times of a file are exclusions of a series, and their zone is
    // not needed.
    get zone() {
      const zone = clocks.zoneNear(time.year);
      return zone === undefined || isUtc(zone) ? undefined : zone;
    },
  };
}

/** The local time of a zone at an instant, as an ical.js time. */
export function localStamp(seconds: number, zone: string): ICAL.Time {
  if (isUtc(zone)) return timeOf(seconds * 1000, ICAL.Timezone.utcTimezone);
  return timeOf(seconds * 1000 + offsetMs(zone, seconds * 1000), ICAL.Timezone.localTimezone);
}

/**
 * The local time at an instant by the clocks of a TZID of the file; in UTC if they are not known.
 */
export function stampIn(tzid: string, seconds: number, root: ICAL.Component): ICAL.Time {
  const offset = clocksOf(tzid, root)?.offsetMs(seconds * 1000) ?? 0;
  return timeOf(seconds * 1000 + offset, ICAL.Timezone.localTimezone);
}

function timeOf(wall: number, zone: ICAL.Timezone): ICAL.Time {
  const at = new Date(wall);
  return ICAL.Time.fromData(
    {
      year: at.getUTCFullYear(),
      month: at.getUTCMonth() + 1,
      day: at.getUTCDate(),
      hour: at.getUTCHours(),
      minute: at.getUTCMinutes(),
      second: at.getUTCSeconds(),
      isDate: false,
    },
    zone,
  );
}

/** Adds the VTIMEZONE of an IANA zone to a file that has none of this name. */
export function addZone(root: ICAL.Component, zone: string, seconds: number): void {
  if (vtimezoneIn(root, zone)) return;
  root.addSubcomponent(vtimezone(zone, seconds));
  known.get(root)?.delete(zone);
}

/** The IANA zone that a TZID, or X-LIC-LOCATION of its VTIMEZONE, names. */
export function ianaZone(tzid: string, root: ICAL.Component): string | undefined {
  const location = vtimezoneIn(root, tzid)?.getFirstPropertyValue('x-lic-location');
  return namedZone(tzid) ?? (typeof location === 'string' ? namedZone(location) : undefined);
}
