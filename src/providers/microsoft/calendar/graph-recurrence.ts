import { RRuleTemporal } from 'rrule-temporal';
import { z } from 'zod';
import type { IcalFields, IcalWhen } from '../../../formats/ical/ical-fields.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { DAY_MS, dateText, graphZone, instantMs, wallMs, zoneOf } from './graph-time.ts';

/* Rules of series: RRULE and EXDATE of iCalendar, and Graph's patterns, which can express less. */

export type Recurrence = NonNullable<IcalFields['recurrence']>;

const text = z.string().nullish();
export const graphRecurrence = z.object({
  pattern: z.object({
    type: z.string(),
    interval: z.number().default(1),
    month: z.number().nullish(),
    dayOfMonth: z.number().nullish(),
    daysOfWeek: z.array(z.string()).nullish(),
    firstDayOfWeek: text,
    index: text,
  }),
  range: z.object({
    type: z.string(),
    startDate: z.string(),
    endDate: text,
    numberOfOccurrences: z.number().nullish(),
    recurrenceTimeZone: text,
  }),
});
export type GraphRecurrence = z.infer<typeof graphRecurrence>;
type Pattern = GraphRecurrence['pattern'];

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const CODES = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];
const INDEXES = ['first', 'second', 'third', 'fourth', 'last'];
const POSITIONS = [1, 2, 3, 4, -1];
/** The shortest month; a pattern with a later day takes the last day of shorter months. */
const SHORTEST_MONTH = 28;
const LONGEST_MONTH = 31;

/** Where a series begins, by the clocks of its zone. */
export interface SeriesStart {
  /** Of the first occurrence, as if the zone were UTC, in milliseconds. */
  wallMs: number;
  isAllDay: boolean;
  zone: string;
}

/** The begin of a series with this time. */
export function seriesStart(when: IcalWhen, zone: string): SeriesStart {
  switch (when.object) {
    case 'date':
      return { wallMs: Date.parse(when.date), isAllDay: true, zone: 'UTC' };
    case 'datespan':
      return { wallMs: Date.parse(when.start_date), isAllDay: true, zone: 'UTC' };
    case 'time':
      return { wallMs: wallMs(when.time * 1000, zone), isAllDay: false, zone };
    case 'timespan':
      return { wallMs: wallMs(when.start_time * 1000, zone), isAllDay: false, zone };
  }
}

const code = (day: string): string => CODES[DAYS.indexOf(day.toLowerCase())] ?? 'MO';

function daysText({ daysOfWeek }: Pattern): string {
  return (daysOfWeek ?? [])
    .map(code)
    .toSorted((a, b) => CODES.indexOf(a) - CODES.indexOf(b))
    .join(',');
}

function relativeText(pattern: Pattern): string {
  const days = daysText(pattern);
  const position = POSITIONS[INDEXES.indexOf((pattern.index ?? 'first').toLowerCase())] ?? 1;
  return days.includes(',') ? `BYDAY=${days};BYSETPOS=${position}` : `BYDAY=${position}${days}`;
}

/** A day from 29 on stands for the last day of shorter months; empty for the day of the start. */
function dayText(day: number, start: Date): string {
  if (day === LONGEST_MONTH) return 'BYMONTHDAY=-1';
  if (day <= SHORTEST_MONTH) return day === start.getUTCDate() ? '' : `BYMONTHDAY=${day}`;
  const days = Array.from({ length: day - SHORTEST_MONTH + 1 }, (_, n) => SHORTEST_MONTH + n);
  return `BYMONTHDAY=${days.join(',')};BYSETPOS=-1`;
}

function patternText(pattern: Pattern, start: Date): string[] {
  const day = pattern.dayOfMonth ?? start.getUTCDate();
  const month = pattern.month ?? start.getUTCMonth() + 1;
  const first = code(pattern.firstDayOfWeek ?? 'sunday');
  switch (pattern.type) {
    case 'weekly': {
      const days = daysText(pattern);
      return [
        'FREQ=WEEKLY',
        days === CODES[start.getUTCDay()] ? '' : `BYDAY=${days}`,
        pattern.interval > 1 && days.includes(',') && first !== 'MO' ? `WKST=${first}` : '',
      ];
    }
    case 'absoluteMonthly':
      return ['FREQ=MONTHLY', dayText(day, start)];
    case 'relativeMonthly':
      return ['FREQ=MONTHLY', relativeText(pattern)];
    case 'absoluteYearly': {
      const isLeapDay = month === 2 && day > SHORTEST_MONTH;
      const days = isLeapDay ? 'BYMONTHDAY=-1' : `BYMONTHDAY=${day}`;
      const isStart = month === start.getUTCMonth() + 1 && day === start.getUTCDate();
      return ['FREQ=YEARLY', isStart && !isLeapDay ? '' : `BYMONTH=${month};${days}`];
    }
    case 'relativeYearly':
      return ['FREQ=YEARLY', `BYMONTH=${month};${relativeText(pattern)}`];
    default:
      return ['FREQ=DAILY'];
  }
}

/** `20300401T070000Z`, or `20300401` for all-day series. */
function stampOf(ms: number, isAllDay: boolean): string {
  const stamp = new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return isAllDay ? stamp.slice(0, 8) : stamp;
}

function rangeText({ range }: GraphRecurrence, start: SeriesStart): string {
  if (range.type === 'numbered') return `COUNT=${range.numberOfOccurrences ?? 1}`;
  if (range.type !== 'endDate' || !range.endDate) return '';
  const wall = Date.parse(range.endDate) + (start.wallMs % DAY_MS);
  const ms = start.isAllDay ? wall : instantMs(wall, start.zone);
  return `UNTIL=${stampOf(ms, start.isAllDay)}`;
}

/** The RRULE of a series. Parts that follow from its first start are left out. */
export function ruleOf(recurrence: GraphRecurrence, start: SeriesStart): string {
  const { pattern } = recurrence;
  const [frequency = '', ...parts] = patternText(pattern, new Date(start.wallMs));
  const interval = pattern.interval > 1 ? `INTERVAL=${pattern.interval}` : '';
  const all = [frequency, interval, ...parts, rangeText(recurrence, start)];
  return `RRULE:${all.filter(Boolean).join(';')}`;
}

/** EXDATE lines for starts in Unix milliseconds. */
export function exclusionsOf(starts: readonly number[], start: SeriesStart): string[] {
  return starts
    .toSorted((a, b) => a - b)
    .map((ms) => {
      if (start.isAllDay) return `EXDATE;VALUE=DATE:${stampOf(ms, true)}`;
      if (start.zone === 'UTC') return `EXDATE:${stampOf(ms, false)}`;
      const wall = stampOf(wallMs(ms, start.zone), false).slice(0, -1);
      return `EXDATE;TZID=${start.zone}:${wall}`;
    });
}

const EXCLUSION = /^EXDATE((?:;[^:;]+)*):(.+)$/i;
const STAMP = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?$/;

/** The starts that EXDATE lines name, in Unix milliseconds. */
export function excludedStarts({ rrule }: Recurrence, start: SeriesStart): number[] {
  const found = new Set<number>();
  for (const line of rrule) {
    const [, parameters = '', values = ''] = EXCLUSION.exec(line) ?? [];
    const tzid = /;TZID="?([^";:]+)/i.exec(parameters)?.[1];
    for (const value of values ? values.split(',') : []) {
      const [, year, month, day, hour, minute, second, utc] = STAMP.exec(value.trim()) ?? [];
      if (year === undefined) throw unwritable(`"${line.slice(0, 100)}"`, 'dates such as 20300401');
      const wall = Date.UTC(
        Number(year),
        Number(month) - 1,
        Number(day),
        Number(hour ?? 0),
        Number(minute ?? 0),
        Number(second ?? 0),
      );
      if (start.isAllDay) found.add(wall - (wall % DAY_MS));
      else if (utc) found.add(wall);
      // A date stands for the occurrence on that day.
      else if (hour === undefined) found.add(instantMs(wall + (start.wallMs % DAY_MS), start.zone));
      else found.add(instantMs(wall, tzid ? zoneOf(tzid) : start.zone));
    }
  }
  return [...found];
}

const unwritable = (what: string, instead: string) =>
  new ProviderError(
    'rejected',
    `recurrence: calendars of Microsoft cannot repeat an event by ${what}. Use ${instead}`,
  );

interface Rule {
  freq: string;
  interval: number;
  count: number | null;
  until: string | null;
  days: { position: number | null; day: string }[];
  monthDays: number[];
  month: number | null;
  setPosition: number | null;
  weekStart: string;
}

const PARTS = [
  'FREQ',
  'INTERVAL',
  'COUNT',
  'UNTIL',
  'BYDAY',
  'BYMONTHDAY',
  'BYMONTH',
  'BYSETPOS',
  'WKST',
];

function parseRule(line: string): Rule {
  const pairs = line
    .slice(line.indexOf(':') + 1)
    .split(';')
    .filter(Boolean);
  const parts = new Map(pairs.map((pair) => pair.toUpperCase().split('=') as [string, string]));
  const other = [...parts.keys()].find((name) => !PARTS.includes(name));
  if (other) throw unwritable(other, `the parts ${PARTS.join(', ')}`);
  const list = (name: string) => parts.get(name)?.split(',') ?? [];
  const one = (name: string): number | null => {
    const values = list(name);
    if (values.length > 1) throw unwritable(`several values of ${name}`, 'one event for each');
    return values[0] === undefined ? null : Number(values[0]);
  };
  return {
    freq: parts.get('FREQ') ?? '',
    interval: one('INTERVAL') ?? 1,
    count: one('COUNT'),
    until: parts.get('UNTIL') ?? null,
    days: list('BYDAY').map((value) => {
      const [, position, day = ''] = /^([+-]?\d+)?([A-Z]{2})$/.exec(value) ?? [];
      return { position: position === undefined ? null : Number(position), day };
    }),
    monthDays: list('BYMONTHDAY').map(Number),
    month: one('BYMONTH'),
    setPosition: one('BYSETPOS'),
    weekStart: parts.get('WKST') ?? 'MO',
  };
}

const dayName = (day: string): string => {
  const name = DAYS[CODES.indexOf(day)];
  if (name === undefined) throw unwritable(`the weekday ${day}`, CODES.join(', '));
  return name;
};

function weeklyPattern(rule: Rule, start: Date): Record<string, unknown> {
  if (rule.days.some(({ position }) => position !== null) || rule.monthDays.length > 0)
    throw unwritable(`the n-th weekday of a ${rule.freq} rule`, 'FREQ=MONTHLY');
  const days = rule.days.length > 0 ? rule.days.map(({ day }) => day) : [CODES[start.getUTCDay()]!];
  return { type: 'weekly', daysOfWeek: days.map(dayName), firstDayOfWeek: dayName(rule.weekStart) };
}

function relativePattern({ days, setPosition }: Rule): Record<string, unknown> {
  const [first] = days;
  const positions = new Set(days.map(({ position }) => position ?? setPosition));
  const [position = null] = positions;
  const index = INDEXES[POSITIONS.indexOf(position ?? 0)];
  const mixes = days.length > 1 && first?.position !== null;
  if (index === undefined || positions.size > 1 || mixes)
    throw unwritable(
      'this choice of weekdays',
      'one of the first four or the last, such as BYDAY=2TU',
    );
  return { daysOfWeek: days.map(({ day }) => dayName(day)), index };
}

/** The day of a month. Graph takes the last day of months that are too short; RRULE skips them. */
function monthDay({ monthDays, setPosition, freq }: Rule, start: Date): number {
  const [first = start.getUTCDate()] = monthDays;
  const last = monthDays.at(-1) ?? first;
  if (first === -1 && monthDays.length === 1) return LONGEST_MONTH;
  const isClamped =
    first === SHORTEST_MONTH &&
    setPosition === -1 &&
    monthDays.every((day, index) => day === SHORTEST_MONTH + index);
  if (isClamped) return last;
  if (monthDays.length > 1 || setPosition !== null || first < 1)
    throw unwritable(
      'this choice of days',
      'one day, such as BYMONTHDAY=15, or the last, BYMONTHDAY=-1',
    );
  if (freq === 'MONTHLY' && first > SHORTEST_MONTH)
    throw unwritable(
      `day ${first}, which some months do not have`,
      'BYMONTHDAY=-1 for the last day of each month, or a day up to 28',
    );
  return first;
}

function patternOf(rule: Rule, start: Date): Record<string, unknown> {
  const month = rule.month ?? start.getUTCMonth() + 1;
  const hasWeekdays = rule.days.length > 0;
  if (hasWeekdays && rule.monthDays.length > 0)
    throw unwritable('days of the month that are certain weekdays', 'either BYDAY or BYMONTHDAY');
  if (rule.month !== null && rule.freq !== 'YEARLY')
    throw unwritable(`BYMONTH with FREQ=${rule.freq}`, 'FREQ=YEARLY');
  switch (rule.freq) {
    case 'DAILY':
      if (rule.monthDays.length > 0) throw unwritable('BYMONTHDAY on each day', 'FREQ=MONTHLY');
      if (!hasWeekdays) return { type: 'daily' };
      if (rule.interval !== 1) throw unwritable('weekdays of every n-th day', 'FREQ=WEEKLY');
      return weeklyPattern(rule, start);
    case 'WEEKLY':
      return weeklyPattern(rule, start);
    case 'MONTHLY':
      return hasWeekdays
        ? { type: 'relativeMonthly', ...relativePattern(rule) }
        : { type: 'absoluteMonthly', dayOfMonth: monthDay(rule, start) };
    case 'YEARLY':
      if (hasWeekdays) return { type: 'relativeYearly', month, ...relativePattern(rule) };
      return { type: 'absoluteYearly', month, dayOfMonth: yearDay(rule, start, month) };
    default:
      throw unwritable(`FREQ=${rule.freq}`, 'DAILY, WEEKLY, MONTHLY or YEARLY');
  }
}

function yearDay(rule: Rule, start: Date, month: number): number {
  const day = monthDay(rule, start);
  if (month !== 2 || day <= SHORTEST_MONTH) return day;
  if (rule.monthDays[0] !== -1)
    throw unwritable('February 29, which most years do not have', 'BYMONTH=2;BYMONTHDAY=-1');
  return 29;
}

/** The last day of a range. An UNTIL before the time of day excludes the occurrence of that day. */
function endDate(until: string, start: SeriesStart): string {
  const [, year, month, day, hour, minute, second] = STAMP.exec(until) ?? [];
  if (year === undefined) throw unwritable(`UNTIL=${until}`, 'a time such as 20300401T070000Z');
  const at = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour ?? 0),
    Number(minute ?? 0),
    Number(second ?? 0),
  );
  if (hour === undefined || start.isAllDay) return dateText(at);
  const wall = wallMs(at, start.zone);
  return dateText(wall % DAY_MS < start.wallMs % DAY_MS ? wall - DAY_MS : wall);
}

/**
 * The rule of a series for Graph. EXDATE lines are left out: Graph deletes occurrences instead.
 * @throws {ProviderError} `rejected` if Graph cannot express it
 */
export function writeRecurrence({ rrule }: Recurrence, start: SeriesStart): GraphRecurrence {
  const rules = rrule.filter((line) => !/^EXDATE[;:]/i.test(line));
  const [line, another] = rules;
  if (line === undefined || !/^RRULE:/i.test(line) || another !== undefined)
    throw unwritable('several rules or RDATE', 'exactly one RRULE');
  const rule = parseRule(line);
  const first = new Date(start.wallMs);
  const range = {
    startDate: dateText(start.wallMs),
    ...(start.isAllDay ? {} : { recurrenceTimeZone: graphZone(start.zone) }),
  };
  const pattern = { ...patternOf(rule, first), interval: rule.interval } as Pattern;
  if (rule.count !== null)
    return { pattern, range: { ...range, type: 'numbered', numberOfOccurrences: rule.count } };
  if (rule.until !== null)
    return { pattern, range: { ...range, type: 'endDate', endDate: endDate(rule.until, start) } };
  return { pattern, range: { ...range, type: 'noEnd' } };
}

const LIMITS = { maxIterations: 20_000, maxCandidateEvaluations: 200_000 };

/** Starts of a series before an instant, in Unix milliseconds, as its rule says. */
export function startsBefore(
  recurrence: GraphRecurrence,
  start: SeriesStart,
  endMs: number,
): number[] {
  // By the clocks of the zone, as if it were UTC.
  const rule = ruleOf(recurrence, { ...start, isAllDay: false, zone: 'UTC' });
  const rules = new RRuleTemporal({
    rruleString: `DTSTART:${stampOf(start.wallMs, false)}\n${rule}`,
    ...LIMITS,
  });
  const walls = rules.between(new Date(start.wallMs), new Date(endMs + DAY_MS), true);
  return walls
    .map(({ epochMilliseconds: wall }) => (start.isAllDay ? wall : instantMs(wall, start.zone)))
    .filter((ms) => ms < endMs);
}
