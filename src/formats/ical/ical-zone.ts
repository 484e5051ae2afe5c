import ICAL from 'ical.js';
import { FileZone, LAST_YEAR } from './file-zone.ts';
import { instantOfWallTime, isTimeZone, offsetMs } from '../../platform/base/time/time-zone.ts';
import { similarZone } from './similar-zone.ts';
import { windowsZone } from './windows-zones.ts';

/** Names of UTC, in lower case. UTC times are written with `Z` instead of a zone. */
const UTC_NAMES = ['utc', 'etc/utc', 'z', 'gmt', 'etc/gmt', 'zulu', 'etc/zulu'];

/** True if a zone name stands for UTC. */
export function isUtc(zone: string): boolean {
  return UTC_NAMES.includes(zone.toLowerCase());
}

/** Last two or three parts of a path such as `/freeassociation.sourceforge.net/Europe/Berlin`. */
const PATH_TAIL = /([A-Za-z_]+\/(?:[A-Za-z_]+\/)?[A-Za-z_+-]+)$/;

/**
 * Cache of spellings: Intl takes a tenth of a millisecond for each, and files repeat the same zone
 * often.
 */
const spellings = new Map<string, string>();
const MOST_SPELLINGS = 2_000;

/** `name` in the spelling of the IANA database, if `Intl` knows it. */
function spelled(name: string): string {
  const known = spellings.get(name);
  if (known !== undefined) return known;
  // Intl may resolve a link such as Asia/Calcutta to another zone; then the given name stays.
  const resolved = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone;
  const spelling = resolved.toLowerCase() === name.toLowerCase() ? resolved : name;
  if (spellings.size >= MOST_SPELLINGS) spellings.clear();
  spellings.set(name, spelling);
  return spelling;
}

/**
 * The IANA zone for a TZID. The TZID may be an IANA name, a Windows name, or a path that ends in an
 * IANA name; else X-LIC-LOCATION of the file's VTIMEZONE is used.
 * @param root the VCALENDAR
 * @returns `undefined` if only the file describes the zone; `instantOf` then uses its VTIMEZONE
 */
export function ianaZone(tzid: string, root: ICAL.Component): string | undefined {
  const named = (name: string): string | undefined => {
    const bare = name.replace(/^\(.*\)\s*|^"|"$/g, '');
    if (isTimeZone(bare)) return spelled(bare);
    const windows = windowsZone(bare);
    if (windows) return windows;
    const tail = PATH_TAIL.exec(bare)?.[1];
    return tail !== undefined && isTimeZone(tail) ? spelled(tail) : undefined;
  };
  const found = named(tzid);
  if (found) return found;
  const zone = zoneOf(tzid, root);
  const location = zone?.getFirstPropertyValue('x-lic-location');
  return typeof location === 'string' ? named(location) : undefined;
}

/** Most time zones of a file that are read. */
const MOST_ZONES = 20;

function zoneOf(tzid: string, root: ICAL.Component): ICAL.Component | undefined {
  return root
    .getAllSubcomponents('vtimezone')
    .slice(0, MOST_ZONES)
    .find((zone) => String(zone.getFirstPropertyValue('tzid')) === tzid);
}

const DAY_MS = 86_400_000;

/** The wall time of a value, as if the zone were UTC. */
export function wallMs(time: ICAL.Time): number {
  return Date.UTC(time.year, time.month - 1, time.day, time.hour, time.minute, time.second);
}

/** A date-time of a file: the instant, and the zone in which it was written. */
export interface ZonedInstant {
  readonly seconds: number;
  /**
   * IANA name. For a zone that only the file describes: an IANA zone with the same clock changes.
   * `undefined` for UTC, for floating times, and if no IANA zone matches.
   */
  readonly zone: string | undefined;
}

/**
 * The instant of a date-time in a file. (The library would use the host's zone if the file has no
 * VTIMEZONE.) A floating time is read as UTC.
 */
export function instantOf(
  property: ICAL.Property,
  time: ICAL.Time,
  root: ICAL.Component,
): ZonedInstant {
  const wall = wallMs(time);
  const tzid = property.getFirstParameter('tzid');
  // A `Z` takes precedence over a TZID.
  if (!tzid || time.zone === ICAL.Timezone.utcTimezone)
    return { seconds: wall / 1000, zone: undefined };
  const zone = ianaZone(tzid, root);
  if (zone) {
    if (isUtc(zone)) return { seconds: wall / 1000, zone: undefined };
    return { seconds: instantOfWallTime(wall, zone).getTime() / 1000, zone };
  }
  const own = fileZone(tzid, root, time.year);
  if (!own) return { seconds: wall / 1000, zone: undefined };
  return {
    seconds: own.instantOf(wall) / 1000,
    // Computed only on demand. Most times of a file are exclusions of a series, and their zone is
    // not needed.
    get zone() {
      const similar = similarZone(own, time.year);
      return similar === undefined || isUtc(similar) ? undefined : similar;
    },
  };
}

const zones = new WeakMap<ICAL.Component, FileZone>();

/**
 * A zone that the file itself describes.
 * @param year year of the time to convert
 * @returns `undefined` if the file does not describe the zone, or not for that year; times are
 *   then read as UTC
 */
export function fileZone(tzid: string, root: ICAL.Component, year: number): FileZone | undefined {
  const own = zoneOf(tzid, root);
  if (!own || year > LAST_YEAR) return undefined;
  const zone = zones.get(own) ?? new FileZone(own);
  zones.set(own, zone);
  return zone;
}

/** The local time of a zone at an instant, as an ical.js time. */
export function localStamp(seconds: number, zone: string): ICAL.Time {
  const wall = new Date(seconds * 1000 + (isUtc(zone) ? 0 : offsetMs(zone, seconds * 1000)));
  return ICAL.Time.fromData(
    {
      year: wall.getUTCFullYear(), month: wall.getUTCMonth() + 1, day: wall.getUTCDate(),
      hour: wall.getUTCHours(), minute: wall.getUTCMinutes(), second: wall.getUTCSeconds(),
    },
    isUtc(zone) ? ICAL.Timezone.utcTimezone : ICAL.Timezone.localTimezone,
  ); // prettier-ignore
}

/** A clock change of a zone. */
interface Transition {
  atMs: number;
  fromMs: number;
  toMs: number;
}

/**
 * The clock changes of a zone within a time span, found by bisecting each week in which the offset
 * changes.
 */
function transitions(zone: string, startMs: number, endMs: number): Transition[] {
  const found: Transition[] = [];
  const step = 7 * DAY_MS;
  for (let at = startMs; at < endMs; at += step) {
    const [fromMs, toMs] = [offsetMs(zone, at), offsetMs(zone, at + step)];
    if (fromMs === toMs) continue;
    let [low, high] = [at, at + step];
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000;
      if (offsetMs(zone, middle) === fromMs) low = middle;
      else high = middle;
    }
    found.push({ atMs: high, fromMs, toMs });
  }
  return found;
}

const DAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

/** Yearly rules that match a clock change: the n-th, or the last, weekday of a month. */
function ruleOf(wall: Date): { nth: string; last: string } {
  const day = DAYS[wall.getUTCDay()];
  const month = wall.getUTCMonth() + 1;
  const nth = Math.ceil(wall.getUTCDate() / 7);
  return {
    nth: `FREQ=YEARLY;BYMONTH=${month};BYDAY=${nth}${day}`,
    last: `FREQ=YEARLY;BYMONTH=${month};BYDAY=-1${day}`,
  };
}

function isLastOfItsKind(wall: Date): boolean {
  const next = new Date(wall.getTime() + 7 * DAY_MS);
  return next.getUTCMonth() !== wall.getUTCMonth();
}

/** A rule that all clock changes follow; `undefined` if there is none. */
function commonRule(walls: readonly Date[]): string | undefined {
  const rules = walls.map(ruleOf);
  const first = rules[0];
  if (!first || walls.length < 2) return undefined;
  const clock = (wall: Date) => wall.getTime() % DAY_MS;
  if (walls.some((wall) => clock(wall) !== clock(walls[0]!))) return undefined;
  if (walls.every(isLastOfItsKind) && rules.every(({ last }) => last === first.last))
    return first.last;
  return rules.every(({ nth }) => nth === first.nth) ? first.nth : undefined;
}

function offsetText(ms: number): string {
  const total = Math.round(Math.abs(ms) / 1000);
  const two = (value: number) => String(value).padStart(2, '0');
  const seconds = total % 60;
  const text = `${ms < 0 ? '-' : '+'}${two(Math.floor(total / 3600))}:${two(Math.floor(total / 60) % 60)}`;
  return seconds === 0 ? text : `${text}:${two(seconds)}`;
}

function observance(kind: 'standard' | 'daylight', change: Transition, rule?: string): unknown[] {
  const properties: unknown[] = [
    ['dtstart', {}, 'date-time', new Date(change.atMs + change.fromMs).toISOString().slice(0, 19)],
    ['tzoffsetfrom', {}, 'utc-offset', offsetText(change.fromMs)],
    ['tzoffsetto', {}, 'utc-offset', offsetText(change.toMs)],
  ];
  if (rule) properties.push(['rrule', {}, 'recur', ICAL.Recur.fromString(rule).toJSON()]);
  return [kind, properties, []];
}

/** Years of clock changes that are written, and that a rule must match. */
const YEARS = 10;

/**
 * The VTIMEZONE of an IANA zone, from the year before `fromSeconds` on. Clock changes of the next
 * ten years are written as a rule if they follow one, else one by one. Most programs know the zone
 * by name and need the content only for unknown names.
 */
export function vtimezone(zone: string, fromSeconds: number): ICAL.Component {
  const startYear = new Date(fromSeconds * 1000).getUTCFullYear() - 1;
  const [start, end] = [Date.UTC(startYear, 0, 1), Date.UTC(startYear + YEARS, 0, 1)];
  const changes = transitions(zone, start, end);
  const offset = offsetMs(zone, start);
  const observances: unknown[] = [];
  const kinds = { daylight: [] as Transition[], standard: [] as Transition[] };
  for (const change of changes)
    kinds[change.toMs > change.fromMs ? 'daylight' : 'standard'].push(change);
  for (const kind of ['standard', 'daylight'] as const) {
    const same = kinds[kind];
    const first = same[0];
    if (!first) continue;
    const uniform = same.every(
      ({ fromMs, toMs }) => fromMs === first.fromMs && toMs === first.toMs,
    );
    const yearly = same.length === YEARS;
    const rule =
      uniform && yearly
        ? commonRule(same.map(({ atMs, fromMs }) => new Date(atMs + fromMs)))
        : undefined;
    if (rule) observances.push(observance(kind, first, rule));
    else observances.push(...same.map((change) => observance(kind, change)));
  }
  // The offset before the first change, or the only offset.
  const before = { atMs: start - offset, fromMs: offset, toMs: offset };
  const first = changes[0];
  observances.unshift(
    observance(first && first.fromMs > first.toMs ? 'daylight' : 'standard', before),
  );
  return new ICAL.Component(['vtimezone', [['tzid', {}, 'text', zone]], observances]);
}
