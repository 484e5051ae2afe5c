import ICAL from 'ical.js';
import { offsetMs } from '../../../platform/base/time/time-zone.ts';

/* Writes the VTIMEZONE of an IANA zone. */

const DAY_MS = 86_400_000;

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
