import { instantOfWallTime, offsetMs } from '../../platform/base/time/time-zone.ts';
import type { FileZone } from './file-zone.ts';

/*
 * Programs give their zones names of their own (`Customized Time Zone`) and say in the file what their clocks do. Rules of
 * series need a zone that everybody knows: one whose clocks do the same.
 */

/** Zones that are tried before the others, as most people live there. */
const FIRST = [
  'America/New_York', 'America/Chicago', 'America/Denver', 'America/Los_Angeles', 'Europe/Berlin', 'Europe/London',
  'Europe/Athens', 'Australia/Sydney', 'Pacific/Auckland',
]; // prettier-ignore

const HOUR_MS = 3_600_000;
/** Years before and after the time that is asked for. */
const YEARS_BEFORE = 1;
const YEARS_AFTER = 3;
/** Changes of clocks in those years that are compared. Real zones have two a year, at most four. */
const MOST_CHANGES = 16;

/** Answers by zone of a file and year. A search takes some milliseconds, and files name many years. */
const answers = new WeakMap<FileZone, Map<number, string | undefined>>();
/** Further years of a zone are not searched: the file tries to keep us busy. */
const MOST_SEARCHES = 4;

/**
 * The IANA zone whose clocks show the same as those of a zone that only a file describes, in the years around a time. Zones
 * with one offset all year are `Etc/GMT±n`.
 * @returns undefined when there is none, or when too many years were asked for
 */
export function similarZone(own: FileZone, year: number): string | undefined {
  const known = answers.get(own) ?? new Map<number, string | undefined>();
  answers.set(own, known);
  if (known.has(year) || known.size >= MOST_SEARCHES) return known.get(year);
  const answer = search(own, year);
  known.set(year, answer);
  return answer;
}

interface Sample {
  /** What the clocks show, as if that were UTC. */
  wallMs: number;
  /** What they show minus UTC. */
  offsetMs: number;
}

function search(own: FileZone, year: number): string | undefined {
  const samples = samplesOf(own, year);
  if (!samples) return undefined;
  const first = samples[0]?.offsetMs ?? 0;
  if (samples.every((sample) => sample.offsetMs === first)) return fixedZone(first);
  // Two days of the year tell most zones apart.
  const seasons = samples.filter((_, index) => index === 0 || index === 6);
  const isCandidate = (zone: string) =>
    seasons.every((sample) => offsetMs(zone, sample.wallMs - sample.offsetMs) === sample.offsetMs);
  return [...FIRST, ...Intl.supportedValuesOf('timeZone')].find(
    (zone) =>
      isCandidate(zone) &&
      samples.every((sample) => instantOfWallTime(sample.wallMs, zone).getTime() === sample.wallMs - sample.offsetMs),
  ); // prettier-ignore
}

/** What the clocks of a zone do: once a month, and before and after each change. Null: they change too often. */
function samplesOf(own: FileZone, year: number): Sample[] | null {
  const months = (YEARS_BEFORE + YEARS_AFTER) * 12;
  const instants = Array.from({ length: months }, (_, month) =>
    Date.UTC(year - YEARS_BEFORE, month, 15, 12),
  );
  const end = Date.UTC(year + YEARS_AFTER, 0, 1);
  const changes = own.changesBetween(Date.UTC(year - YEARS_BEFORE, 0, 1), end);
  if (changes.length > MOST_CHANGES) return null;
  // Not at the change itself: clocks show some times twice then, or not at all.
  for (const { atMs } of changes) instants.push(atMs - 2 * HOUR_MS, atMs + 2 * HOUR_MS);
  return instants.map((at) => ({ wallMs: at + own.offsetMs(at), offsetMs: own.offsetMs(at) }));
}

/** POSIX turns the sign around. */
function fixedZone(offset: number): string | undefined {
  const hours = offset / HOUR_MS;
  if (!Number.isInteger(hours) || hours < -12 || hours > 14) return undefined;
  return hours === 0 ? 'UTC' : `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`;
}
