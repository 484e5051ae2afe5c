import ICAL from 'ical.js';
import { FileZone, LAST_YEAR } from './file-zone.ts';
import { instantOfWallTime, isTimeZone, offsetMs } from '../../platform/base/time/time-zone.ts';
import { similarZone } from './similar-zone.ts';
import { windowsZone } from './windows-zones.ts';

/** UTC by any of its names, as it is written: `Z` instead of a zone. */
const UTC_NAMES = ['utc', 'etc/utc', 'z', 'gmt', 'etc/gmt', 'zulu', 'etc/zulu'];

/** Whether a zone is UTC by another name. */
export function isUtc(zone: string): boolean {
  return UTC_NAMES.includes(zone.toLowerCase());
}

/** Last two or three parts of a path such as `/freeassociation.sourceforge.net/Europe/Berlin`. */
const PATH_TAIL = /([A-Za-z_]+\/(?:[A-Za-z_]+\/)?[A-Za-z_+-]+)$/;

/** Spellings that are known: Intl takes a tenth of a millisecond to tell one, and files name the same zone often. */
const spellings = new Map<string, string>();
const MOST_SPELLINGS = 2_000;

/** `name` in the spelling of the IANA database, where `Intl` tells it. */
function spelled(name: string): string {
  const known = spellings.get(name);
  if (known !== undefined) return known;
  // Links such as Asia/Calcutta keep their names: Intl answers with what it was asked for, in its own case.
  const told = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone;
  const spelling = told.toLowerCase() === name.toLowerCase() ? told : name;
  if (spellings.size >= MOST_SPELLINGS) spellings.clear();
  spellings.set(name, spelling);
  return spelling;
}

/**
 * The IANA zone a TZID means: its own name, a Windows name, the end of a path, or what the file's VTIMEZONE says of itself.
 * @param root the VCALENDAR
 * @returns undefined when only the file knows: then `instantOf` goes by its VTIMEZONE
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

/** Zones of a file that are looked at. */
const MOST_ZONES = 20;

function zoneOf(tzid: string, root: ICAL.Component): ICAL.Component | undefined {
  return root
    .getAllSubcomponents('vtimezone')
    .slice(0, MOST_ZONES)
    .find((zone) => String(zone.getFirstPropertyValue('tzid')) === tzid);
}

const DAY_MS = 86_400_000;

/** The wall time a value shows, as if it were UTC. */
export function wallMs(time: ICAL.Time): number {
  return Date.UTC(time.year, time.month - 1, time.day, time.hour, time.minute, time.second);
}

/** A date-time of a file: when it is, and in which zone it was written. */
export interface ZonedInstant {
  readonly seconds: number;
  /** IANA name, also of a zone whose clocks do what the file says of its own; undefined: UTC, floating, or none does. */
  readonly zone: string | undefined;
}

/**
 * When a date-time of a file is. The library would take the host's zone for one without VTIMEZONE. A floating time is
 * read as UTC: it has no instant of its own.
 */
export function instantOf(
  property: ICAL.Property,
  time: ICAL.Time,
  root: ICAL.Component,
): ZonedInstant {
  const wall = wallMs(time);
  const tzid = property.getFirstParameter('tzid');
  // A `Z` says more than a zone beside it.
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
    // Only when somebody asks: most times of a file are exceptions of a series, of which nobody wants to know the zone.
    get zone() {
      const similar = similarZone(own, time.year);
      return similar === undefined || isUtc(similar) ? undefined : similar;
    },
  };
}

const zones = new WeakMap<ICAL.Component, FileZone>();

/**
 * The zone a file describes itself.
 * @param year of the time that is asked for
 * @returns undefined when the file does not, or not for that year: its times are read as UTC
 */
export function fileZone(tzid: string, root: ICAL.Component, year: number): FileZone | undefined {
  const own = zoneOf(tzid, root);
  if (!own || year > LAST_YEAR) return undefined;
  const zone = zones.get(own) ?? new FileZone(own);
  zones.set(own, zone);
  return zone;
}

/** `YYYYMMDDTHHMMSS` of what the clocks of a zone show. */
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

/** A change of the clocks of a zone. */
interface Transition {
  atMs: number;
  fromMs: number;
  toMs: number;
}

/** The changes of a zone's clocks in a span, found by halving the weeks in which the offset differs. */
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

/** The yearly rule by which clocks change at a wall time: the n-th or last weekday of a month. */
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

/** One rule all of the changes follow; undefined: there is none. */
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

/** How many years of changes are written out or looked at for a rule. */
const YEARS = 10;

/**
 * The VTIMEZONE of an IANA zone, from a year before an instant on: as rules where the changes of the next ten years follow
 * any, else one by one. Readers know most zones by their names and go by the content for the rest.
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
  // What holds before the first change, or always.
  const before = { atMs: start - offset, fromMs: offset, toMs: offset };
  const first = changes[0];
  observances.unshift(
    observance(first && first.fromMs > first.toMs ? 'daylight' : 'standard', before),
  );
  return new ICAL.Component(['vtimezone', [['tzid', {}, 'text', zone]], observances]);
}
