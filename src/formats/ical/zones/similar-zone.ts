import { instantOfWallTime, offsetMs } from '../../../platform/base/time/time-zone.ts';
import type { FileZone } from './file-zone.ts';
import { fixedZone } from './zone-names.ts';

/*
 * Files describe their time zones, under names of their own (`Customized Time Zone`) or under names
 * of the IANA database that may mean something else. Recurrence rules need an IANA zone, so this
 * module finds one with the same clock changes.
 */

/** Zones to try first, because most people live there. */
const FIRST = [
  'America/New_York',
  'America/Chicago',
  'America/Denver',
  'America/Los_Angeles',
  'Europe/Berlin',
  'Europe/London',
  'Europe/Athens',
  'Australia/Sydney',
  'Pacific/Auckland',
];

const HOUR_MS = 3_600_000;
/** Years before and after the given time that are compared. */
const YEARS_BEFORE = 1;
const YEARS_AFTER = 3;
/**
 * Most clock changes in those years that are compared. Real zones have two a year, at most four.
 */
const MOST_CHANGES = 16;

/** Cached results by file zone and year. A search takes some milliseconds. */
const results = new WeakMap<FileZone, Map<number, string | undefined>>();
/**
 * Most years for which all zones are searched. A file with more years would only waste processor
 * time.
 */
const MOST_SEARCHES = 4;

/**
 * The IANA zone that shows the same local times as a zone described in a file, in the years around
 * a time. Zones with one offset all year become `Etc/GMT±n`, unless a likely zone matches.
 * @param likely zones that the file names; they are tried first
 * @returns `undefined` if no zone matches, or if too many years were searched
 */
export function similarZone(
  own: FileZone,
  year: number,
  likely: readonly string[],
): string | undefined {
  const known = results.get(own) ?? new Map<number, string | undefined>();
  results.set(own, known);
  if (known.has(year)) return known.get(year);
  const samples = samplesOf(own, year);
  if (!samples) return undefined;
  const named = likely.find((zone) => matches(samples, zone));
  if (named !== undefined) return named;
  if (known.size >= MOST_SEARCHES) return undefined;
  const result = search(samples);
  known.set(year, result);
  return result;
}

interface Sample {
  /** Local time, as if it were UTC. */
  wallMs: number;
  /** Offset from UTC. */
  offsetMs: number;
}

const matches = (samples: readonly Sample[], zone: string): boolean =>
  samples.every(
    ({ wallMs, offsetMs: offset }) => instantOfWallTime(wallMs, zone).getTime() === wallMs - offset,
  );

function search(samples: readonly Sample[]): string | undefined {
  const first = samples[0]?.offsetMs ?? 0;
  if (samples.every((sample) => sample.offsetMs === first)) return fixedZone(first);
  // Two samples, half a year apart, rule out most zones.
  const seasons = samples.filter((_, index) => index === 0 || index === 6);
  const isCandidate = (zone: string) =>
    seasons.every((sample) => offsetMs(zone, sample.wallMs - sample.offsetMs) === sample.offsetMs);
  return [...FIRST, ...Intl.supportedValuesOf('timeZone')].find(
    (zone) => isCandidate(zone) && matches(samples, zone),
  );
}

/**
 * Local times of a zone: once a month, and before and after each clock change. `null` if the clocks
 * change too often.
 */
function samplesOf(own: FileZone, year: number): Sample[] | null {
  const months = (YEARS_BEFORE + YEARS_AFTER) * 12;
  const instants = Array.from({ length: months }, (_, month) =>
    Date.UTC(year - YEARS_BEFORE, month, 15, 12),
  );
  const end = Date.UTC(year + YEARS_AFTER, 0, 1);
  const changes = own.changesBetween(Date.UTC(year - YEARS_BEFORE, 0, 1), end);
  if (changes.length > MOST_CHANGES) return null;
  // Not at the change itself: at that time local times are ambiguous or do not exist.
  for (const { atMs } of changes) instants.push(atMs - 2 * HOUR_MS, atMs + 2 * HOUR_MS);
  return instants.map((at) => ({ wallMs: at + own.offsetMs(at), offsetMs: own.offsetMs(at) }));
}
