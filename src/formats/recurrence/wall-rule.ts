/*
 * Expands common rules (RFC 5545 3.3.10) by arithmetic: every day, week, month or year, with the
 * parts that calendar programs usually add. The n-th occurrence is computed directly, so that
 * occurrences years ago cost nothing. Expanding a weekly rule over a year takes 5 µs, and 5.6 ms
 * with rrule-temporal. With that library, the availability of 50 people with nine series each would
 * miss its limit of 50 ms (bench/history.md, Availability).
 */

/**
 * The occurrences of a rule, in milliseconds of wall time: what clocks show, as if that were UTC.
 */
export interface WallRule {
  /**
   * Occurrences from one wall time to another, both included, earliest first. If there are more
   * than `most`, the list may stop after `most` + 1 of them.
   */
  between(fromMs: number, lastMs: number, most: number): number[];
  /** The first occurrence; `null` if the rule never takes place. */
  first(): number | null;
}

const DAY_MS = 86_400_000;
const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];
/** The Gregorian calendar repeats after 400 years. */
const MONTHS_OF_ALL = 4_800;

/**
 * A weekday, counted from Monday as 0. `nth` selects the nth one of a month, from the end of the
 * month if negative; `null` selects all of them.
 */
interface Weekday {
  nth: number | null;
  weekday: number;
}

interface Parts {
  frequency: string;
  interval: number;
  count: number;
  weekStart: number;
  days: Weekday[] | null;
  monthDays: number[] | null;
  months: number[] | null;
  positions: number[] | null;
}

const mod = (number: number, by: number): number => ((number % by) + by) % by;
const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
/** Weekday of a day, counted from 1 January 1970, a Thursday. */
const weekdayOf = (day: number): number => mod(day + 3, 7);
const ascending = (a: number, b: number): number => a - b;
const sorted = (numbers: readonly number[]): number[] => [...new Set(numbers)].toSorted(ascending);

/** Reads every item of a list; `null` if one of them is not supported here. */
function each<T>(list: string, read: (item: string) => T | null): T[] | null {
  const items = list.split(',').map(read);
  return items.includes(null) ? null : (items as T[]);
}

const within = (low: number, high: number) => (text: string) => {
  const number = /^[+-]?\d{1,4}$/.test(text) ? Number(text) : 0;
  return number !== 0 && number >= low && number <= high ? number : null;
};

function weekdayIn(text: string): Weekday | null {
  const match = /^([+-]?[1-5])?([A-Z]{2})$/.exec(text);
  const weekday = WEEKDAYS.indexOf(match?.[2] ?? '');
  return weekday < 0 ? null : { nth: match?.[1] === undefined ? null : Number(match[1]), weekday };
}

/** How each part of a rule is read. A rule with any other part is unusual. */
const READERS: Readonly<Record<string, (value: string) => unknown>> = {
  FREQ: (value) => value,
  INTERVAL: (value) => (/^[1-9]\d{0,3}$/.test(value) ? Number(value) : null),
  COUNT: (value) => (/^[1-9]\d{0,8}$/.test(value) ? Number(value) : null),
  WKST: (value) => weekdayIn(value),
  BYDAY: (value) => each(value, weekdayIn),
  BYMONTHDAY: (value) => each(value, within(-31, 31)),
  BYMONTH: (value) => (value.includes('+') ? null : each(value, within(1, 12))),
  BYSETPOS: (value) => each(value, within(-31, 31)),
};

function readParts(text: string): Parts | null {
  const found: Record<string, unknown> = {};
  for (const part of text.split(';')) {
    const [name = '', value = ''] = part.split('=', 2);
    const read = Object.hasOwn(READERS, name) ? READERS[name]!(value) : null;
    if (read === null) return null;
    found[name] = read;
  }
  const weekStart = (found['WKST'] ?? { nth: null, weekday: 0 }) as Weekday;
  if (weekStart.nth !== null) return null;
  return {
    frequency: String(found['FREQ']),
    interval: (found['INTERVAL'] ?? 1) as number,
    count: (found['COUNT'] ?? Infinity) as number,
    weekStart: weekStart.weekday,
    days: (found['BYDAY'] ?? null) as Weekday[] | null,
    monthDays: (found['BYMONTHDAY'] ?? null) as number[] | null,
    months: (found['BYMONTH'] ?? null) as number[] | null,
    positions: (found['BYSETPOS'] ?? null) as number[] | null,
  };
}

/**
 * Opens a rule that can be expanded by arithmetic; `null` if it needs rrule-temporal.
 * @param text rule in upper case, without UNTIL
 * @param beginMs wall time of the first start, in whole seconds
 */
export function usualRule(text: string, beginMs: number): WallRule | null {
  const parts = readParts(text);
  if (!parts) return null;
  const { days, monthDays, months, positions } = parts;
  switch (parts.frequency) {
    case 'DAILY':
    case 'WEEKLY':
      if (monthDays ?? months ?? positions ?? days?.find(({ nth }) => nth !== null)) return null;
      return cycleOf(parts, beginMs);
    case 'MONTHLY':
      if (months || (days && monthDays) || (positions && !days)) return null;
      return new MonthRule(parts, beginMs, 1);
    case 'YEARLY':
      // Without BYMONTH, BYMONTHDAY and BYDAY would refer to the whole year.
      if (positions || (days && monthDays) || (!months && (days || monthDays))) return null;
      return new MonthRule(parts, beginMs, 12);
    default:
      return null;
  }
}

function cycleOf(
  { frequency, interval, count, weekStart, days }: Parts,
  beginMs: number,
): CycleRule {
  const begin = dayOf(beginMs);
  const weekdays = days?.map(({ weekday }) => weekday);
  if (frequency === 'WEEKLY') {
    const origin = begin - mod(weekdayOf(begin) - weekStart, 7);
    const offsets = (weekdays ?? [weekdayOf(begin)]).map((weekday) => mod(weekday - weekStart, 7));
    return new CycleRule(beginMs, { origin, days: 7 * interval, offsets: sorted(offsets) }, count);
  }
  // After seven steps, every rule has returned to the same weekday.
  const offsets = Array.from({ length: 7 }, (_, step) => step * interval).filter(
    (offset) => weekdays?.includes(weekdayOf(begin + offset)) ?? true,
  );
  return new CycleRule(beginMs, { origin: begin, days: 7 * interval, offsets }, count);
}

/** A pattern that repeats every `days` days: `offsets` from the day `origin`, ascending. */
interface Cycle {
  origin: number;
  days: number;
  offsets: readonly number[];
}

class CycleRule implements WallRule {
  readonly #timeMs: number;
  readonly #cycle: Cycle;
  /**
   * Number of the first occurrence, counted in cycles from `origin`, and of the one after the last.
   */
  readonly #lowest: number;
  readonly #end: number;

  constructor(beginMs: number, cycle: Cycle, count: number) {
    this.#timeMs = mod(beginMs, DAY_MS);
    this.#cycle = cycle;
    this.#lowest = this.#numberFrom(dayOf(beginMs));
    this.#end = this.#lowest + count;
  }

  first(): number | null {
    return this.#cycle.offsets.length === 0 ? null : this.#at(this.#lowest);
  }

  between(fromMs: number, lastMs: number, most: number): number[] {
    const found: number[] = [];
    if (this.#cycle.offsets.length === 0) return found;
    // The day of `fromMs` counts only if the rule's time of day is not before `fromMs`.
    const from = Math.ceil((fromMs - this.#timeMs) / DAY_MS);
    for (
      let number = Math.max(this.#numberFrom(from), this.#lowest);
      number < this.#end;
      number += 1
    ) {
      const ms = this.#at(number);
      if (ms > lastMs || found.length > most) break;
      found.push(ms);
    }
    return found;
  }

  /** Number of the first occurrence on that day or later. */
  #numberFrom(day: number): number {
    const { origin, days, offsets } = this.#cycle;
    const cycle = Math.floor((day - origin) / days);
    const within = day - origin - cycle * days;
    const index = offsets.findIndex((offset) => offset >= within);
    return cycle * offsets.length + (index < 0 ? offsets.length : index);
  }

  #at(number: number): number {
    const { origin, days, offsets } = this.#cycle;
    const cycle = Math.floor(number / offsets.length);
    const offset = offsets[number - cycle * offsets.length]!;
    return (origin + cycle * days + offset) * DAY_MS + this.#timeMs;
  }
}

/**
 * A rule that matches every n months, or certain months every n years. Months are counted from
 * January of the year 0.
 */
class MonthRule implements WallRule {
  readonly #parts: Parts;
  readonly #beginMs: number;
  readonly #timeMs: number;
  readonly #dayOfMonth: number;
  /**
   * First month of the first period, months between two periods, and the matching months within
   * each period.
   */
  readonly #origin: number;
  readonly #step: number;
  readonly #months: readonly number[];

  constructor(parts: Parts, beginMs: number, monthsOfPeriod: 1 | 12) {
    const begin = new Date(beginMs);
    const month = begin.getUTCFullYear() * 12 + begin.getUTCMonth();
    this.#parts = parts;
    this.#beginMs = beginMs;
    this.#timeMs = mod(beginMs, DAY_MS);
    this.#dayOfMonth = begin.getUTCDate();
    this.#origin = month - (month % monthsOfPeriod);
    this.#step = monthsOfPeriod * parts.interval;
    this.#months =
      monthsOfPeriod === 1
        ? [0]
        : sorted(parts.months?.map((one) => one - 1) ?? [begin.getUTCMonth()]);
  }

  first(): number | null {
    // After 4,800 periods, every possible month has been tried, whatever the interval.
    for (let period = 0; period <= MONTHS_OF_ALL; period += 1) {
      const ms = this.#timesOf(period).find((one) => one >= this.#beginMs);
      if (ms !== undefined) return ms;
    }
    return null;
  }

  between(fromMs: number, lastMs: number, most: number): number[] {
    const found: number[] = [];
    const { count } = this.#parts;
    let number = 0;
    const last = this.#periodAt(lastMs);
    for (
      let period = count === Infinity ? Math.max(0, this.#periodAt(fromMs)) : 0;
      period <= last;
      period += 1
    ) {
      for (const ms of this.#timesOf(period)) {
        if (ms < this.#beginMs) continue;
        if (ms > lastMs || number >= count || found.length > most) return found;
        number += 1;
        if (ms >= fromMs) found.push(ms);
      }
    }
    return found;
  }

  #periodAt(ms: number): number {
    const date = new Date(ms);
    return Math.floor(
      (date.getUTCFullYear() * 12 + date.getUTCMonth() - this.#origin) / this.#step,
    );
  }

  #timesOf(period: number): number[] {
    const first = this.#origin + period * this.#step;
    return this.#months.flatMap((month) => {
      const begin = beginOfMonth(first + month);
      const firstDay = dayOf(begin);
      const length = dayOf(beginOfMonth(first + month + 1)) - firstDay;
      return this.#daysOf(weekdayOf(firstDay), length).map(
        (day) => begin + (day - 1) * DAY_MS + this.#timeMs,
      );
    });
  }

  /**
   * Days of a month that match.
   * @param weekday weekday of the first of the month
   */
  #daysOf(weekday: number, length: number): number[] {
    const { days, monthDays, positions } = this.#parts;
    const all = days
      ? days.flatMap((one) => daysOn(one, weekday, length))
      : (monthDays ?? [this.#dayOfMonth]).map((day) => (day < 0 ? length + 1 + day : day));
    const kept = sorted(all.filter((day) => day >= 1 && day <= length));
    if (!positions) return kept;
    return sorted(
      positions.flatMap((position) => kept.at(position > 0 ? position - 1 : position) ?? []),
    );
  }
}

const beginOfMonth = (month: number): number => Date.UTC(Math.floor(month / 12), month % 12);

/** Days of a month that fall on the weekday. */
function daysOn({ nth, weekday }: Weekday, first: number, length: number): number[] {
  const lowest = 1 + mod(weekday - first, 7);
  const all = Array.from(
    { length: Math.floor((length - lowest) / 7) + 1 },
    (_, week) => lowest + 7 * week,
  );
  if (nth === null) return all;
  const day = all.at(nth > 0 ? nth - 1 : nth);
  return day === undefined ? [] : [day];
}
