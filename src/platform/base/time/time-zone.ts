/*
 * IANA time zones with Intl, whose data comes with Node. (Temporal would need one line, but Node 24
 * does not have it yet.)
 */

const DAY_MS = 86_400_000;

/**
 * Offsets such as `+05:30` and POSIX strings are not IANA names, although Intl accepts some of
 * them.
 */
const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;

/**
 * Formats by lower-case zone name: Intl ignores case, and creating a format costs more than using
 * it.
 */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const key = zone.toLowerCase();
  let format = formats.get(key);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(key, format);
  }
  return format;
}

/** Whether `name` is an IANA time zone, or a link such as `Asia/Calcutta`. Case does not matter. */
export function isTimeZone(name: string): boolean {
  if (name.length > 64 || !NAME.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false; // RangeError: Intl does not know the zone.
  }
}

/** How many days are cached, over all zones. They take a few megabytes. */
const MOST_DAYS = 50_000;
/**
 * Cached offsets by lower-case zone and day since 1970; `null` for a day on which clocks change.
 */
const offsets = new Map<string, Map<number, number | null>>();
let rememberedDays = 0;

/**
 * Returns the offset of a zone from UTC at an instant, in milliseconds; positive east of Greenwich.
 */
export function offsetMs(zone: string, instantMs: number): number {
  const day = Math.floor(instantMs / DAY_MS);
  const key = zone.toLowerCase();
  let days = offsets.get(key);
  const known = days?.get(day);
  if (known !== undefined) return known ?? offsetAt(zone, instantMs);
  const begin = offsetAt(zone, day * DAY_MS);
  const offset = begin === offsetAt(zone, (day + 1) * DAY_MS) ? begin : null;
  if (rememberedDays >= MOST_DAYS) {
    offsets.clear();
    rememberedDays = 0;
    days = undefined;
  }
  if (!days) offsets.set(key, (days = new Map()));
  days.set(day, offset);
  rememberedDays += 1;
  return offset ?? offsetAt(zone, instantMs);
}

/** Reads the offset from Intl, which takes some microseconds. */
function offsetAt(zone: string, instantMs: number): number {
  const fields: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(instantMs))
    fields[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = fields;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instantMs / 1000) * 1000;
}

/**
 * Returns the first instant of a calendar day in a zone. If the clocks skip midnight, it is the
 * instant that they skip to. If the zone skipped the whole day, it is the instant of the skip.
 * @param dayMs midnight of the day, as if the zone were UTC
 */
export function startOfDay(dayMs: number, zone: string): Date {
  return instantOfWallTime(dayMs, zone);
}

/**
 * Returns the instant at which the clocks of a zone show a wall time (RFC 5545 3.3.5). If they show
 * it twice, the first instant counts. If they skip it, the offset before the gap applies, so the
 * clocks then usually show an hour later.
 * @param wallMs the wall time, as if the zone were UTC
 */
export function instantOfWallTime(wallMs: number, zone: string): Date {
  return new Date(instantOfWall(wallMs, (at) => offsetMs(zone, at)));
}

/** Returns that instant in milliseconds for clocks that are described by their offsets from UTC. */
export function instantOfWall(wallMs: number, offsetOf: (instantMs: number) => number): number {
  const before = offsetOf(wallMs - DAY_MS);
  const after = offsetOf(wallMs + DAY_MS);
  const candidates = [wallMs - Math.max(before, after), wallMs - Math.min(before, after)];
  const shown = candidates.find((instant) => instant + offsetOf(instant) === wallMs);
  return shown ?? wallMs - before;
}
