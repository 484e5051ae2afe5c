import { createHash } from 'node:crypto';
import ICAL from 'ical.js';
import { instantOfWallTime } from '../time/time-zone.ts';

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
const DAY_MS = 24 * HOUR_MS;
/** Years before and after the time that is asked for. */
const YEARS_BEFORE = 1;
const YEARS_AFTER = 3;
const STEP_MS = 7 * DAY_MS;

/** Known answers, by zone and year. */
const answers = new Map<string, string | undefined>();
const MOST_ANSWERS = 1_000;
/** What tells one zone from another, whichever file it is in. */
const digests = new WeakMap<ICAL.Timezone, string>();

/**
 * The IANA zone whose clocks show the same as those of a zone that only a file describes, in the years around a time. Zones
 * with one offset all year are `Etc/GMT±n`.
 * @param own bounded work is up to the caller (`fileZone`)
 * @returns undefined when there is none
 */
export function similarZone(own: ICAL.Timezone, year: number): string | undefined {
  const key = `${digestOf(own)} ${year}`;
  if (answers.has(key)) return answers.get(key);
  if (answers.size >= MOST_ANSWERS) answers.clear();
  const answer = search(own, year);
  answers.set(key, answer);
  return answer;
}

function digestOf(own: ICAL.Timezone): string {
  const known = digests.get(own);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(String(own.component)).digest('base64');
  digests.set(own, digest);
  return digest;
}

function search(own: ICAL.Timezone, year: number): string | undefined {
  const samples = samplesOf(own, year);
  const first = samples[0]?.offsetMs ?? 0;
  if (samples.every((sample) => sample.offsetMs === first)) return fixedZone(first);
  const zones = [...FIRST, ...Intl.supportedValuesOf('timeZone')];
  return zones.find((zone) =>
    samples.every(({ wallMs, offsetMs }) => instantOfWallTime(wallMs, zone).getTime() === wallMs - offsetMs),
  );
}

interface Sample {
  /** What the clocks show, as if that were UTC. */
  wallMs: number;
  /** What they show minus UTC. */
  offsetMs: number;
}

/** What the clocks of a zone do: at noon once a week, and before and after each change. */
function samplesOf(own: ICAL.Timezone, year: number): Sample[] {
  const samples: Sample[] = [];
  const end = Date.UTC(year + YEARS_AFTER, 0, 1);
  let before = sampleAt(own, Date.UTC(year - YEARS_BEFORE, 0, 1, 12));
  for (let wallMs = before.wallMs; wallMs < end; wallMs += STEP_MS) {
    const sample = sampleAt(own, wallMs);
    if (sample.offsetMs !== before.offsetMs) samples.push(...aroundChange(own, before, sample));
    samples.push(sample);
    before = sample;
  }
  return samples;
}

/** Not at the change itself: clocks show some times twice then, or not at all. */
function aroundChange(own: ICAL.Timezone, before: Sample, after: Sample): Sample[] {
  let [low, high] = [before, after];
  while (high.wallMs - low.wallMs > 60_000) {
    const middle = sampleAt(own, Math.floor((low.wallMs + high.wallMs) / 2));
    if (middle.offsetMs === low.offsetMs) low = middle;
    else high = middle;
  }
  return [sampleAt(own, low.wallMs - 2 * HOUR_MS), sampleAt(own, high.wallMs + 2 * HOUR_MS)];
}

function sampleAt(own: ICAL.Timezone, atMs: number): Sample {
  const wall = new Date(atMs);
  wall.setUTCMilliseconds(0);
  const there = ICAL.Time.fromData(
    {
      year: wall.getUTCFullYear(), month: wall.getUTCMonth() + 1, day: wall.getUTCDate(),
      hour: wall.getUTCHours(), minute: wall.getUTCMinutes(), second: wall.getUTCSeconds(),
    },
    own,
  ); // prettier-ignore
  return { wallMs: wall.getTime(), offsetMs: wall.getTime() - there.toUnixTime() * 1000 };
}

/** POSIX turns the sign around. */
function fixedZone(offset: number): string | undefined {
  const hours = offset / HOUR_MS;
  if (!Number.isInteger(hours) || hours < -12 || hours > 14) return undefined;
  return hours === 0 ? 'UTC' : `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`;
}
