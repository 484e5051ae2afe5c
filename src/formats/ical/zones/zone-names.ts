import { isTimeZone } from '../../../platform/base/time/time-zone.ts';
import { displayedZone } from './windows-display-names.ts';
import { windowsZone } from './windows-zones.ts';

/** Names of UTC, in lower case. UTC times are written with `Z` instead of a zone. */
const UTC_NAMES = ['utc', 'etc/utc', 'z', 'gmt', 'etc/gmt', 'zulu', 'etc/zulu'];

/** True if a zone name stands for UTC. */
export function isUtc(zone: string): boolean {
  return UTC_NAMES.includes(zone.toLowerCase());
}

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

/** A name of Windows begins with its offset in winter: `(UTC-05:00) Eastern Time (US & Canada)`. */
const OFFSET_PREFIX = /^\s*\((?:UTC|GMT)?\s*(?:[+-]\d\d?(?::?\d\d)?)?\)\s*/i;
/** Most parts of an IANA name: `America/Argentina/Buenos_Aires`. */
const MOST_PARTS = 3;

/**
 * The IANA zone that a TZID names: an IANA name, a name of Windows in one of its two forms, or a
 * globally unique name that ends in an IANA name, such as
 * `/freeassociation.sourceforge.net/Europe/Berlin`.
 * @returns `undefined` if the name is none of these
 */
export function namedZone(tzid: string): string | undefined {
  const bare = tzid.trim().replaceAll(/^"|"$/g, '').replace(OFFSET_PREFIX, '').trim();
  if (isTimeZone(bare)) return spelled(bare);
  const windows = windowsZone(bare) ?? displayedZone(bare);
  if (windows) return windows;
  const parts = bare.split('/');
  const fewest = bare.startsWith('/') ? 1 : 2;
  for (let count = Math.min(MOST_PARTS, parts.length - 1); count >= fewest; count -= 1) {
    const tail = parts.slice(-count).join('/');
    if (isTimeZone(tail)) return spelled(tail);
  }
  return undefined;
}

const OFFSET = /^\s*\(?(?:UTC|GMT)?\s*([+-])(\d\d?):?([0-5]\d)?(?:\)|\s*$)/i;
const HOUR_MS = 3_600_000;

/**
 * The offset in a name that is otherwise unknown, such as `(UTC-05:00) Somewhere` or `GMT+2`, in
 * milliseconds; `undefined` if the name has none.
 */
export function offsetInName(tzid: string): number | undefined {
  const [, sign, hours, minutes = '0'] = OFFSET.exec(tzid) ?? [];
  if (sign === undefined || Number(hours) > 14) return undefined;
  return (sign === '-' ? -1 : 1) * (Number(hours) * HOUR_MS + Number(minutes) * 60_000);
}

/** The zone with one offset all year; `undefined` if the IANA database has none. */
export function fixedZone(offset: number): string | undefined {
  const hours = offset / HOUR_MS;
  if (!Number.isInteger(hours) || hours < -12 || hours > 14) return undefined;
  // The sign of `Etc/GMT±n` is inverted (POSIX).
  return hours === 0 ? 'UTC' : `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`;
}
