import { Temporal } from 'temporal-polyfill';
import { GraphError } from '../http/types.ts';
import { zoneOf } from './zones.ts';

/** Graph's `patternedRecurrence`. */
export interface Recurrence {
  pattern: {
    type: string;
    interval?: number;
    daysOfWeek?: string[];
    dayOfMonth?: number;
    month?: number;
    index?: string;
    firstDayOfWeek?: string;
  };
  range: {
    type: string;
    startDate: string;
    endDate?: string;
    numberOfOccurrences?: number;
    recurrenceTimeZone?: string;
  };
}

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const INDEXES = ['first', 'second', 'third', 'fourth', 'last'];
const TYPES = new Set([
  'daily',
  'weekly',
  'absoluteMonthly',
  'relativeMonthly',
  'absoluteYearly',
  'relativeYearly',
]);
/** Stops a series without an end. */
const MOST_PERIODS = 5_000;

/** Checks what a request says about a recurrence. @throws {GraphError} 400 */
export function assertRecurrence({ pattern, range }: Recurrence): void {
  const fail = (text: string) => new GraphError(400, 'ErrorInvalidRequest', text);
  if (!TYPES.has(pattern?.type)) throw fail(`The recurrence pattern ${pattern?.type} is unknown.`);
  if (!((pattern.interval ?? 0) >= 1)) throw fail('The interval of a recurrence is required.');
  if (/weekly|relative/.test(pattern.type) && !pattern.daysOfWeek?.length) {
    throw fail('daysOfWeek is required.');
  }
  if (!/^\d{4}-\d\d-\d\d$/.test(range?.startDate ?? '')) throw fail('range.startDate is required.');
  if (range.type === 'endDate' && !range.endDate) throw fail('range.endDate is required.');
  if (range.type === 'numbered' && !range.numberOfOccurrences) {
    throw fail('range.numberOfOccurrences is required.');
  }
}

/**
 * Starts of the occurrences of a series until `until`, in Unix milliseconds.
 * @param time wall-clock time of every occurrence in the series' zone
 */
export function startsOf(
  recurrence: Recurrence,
  time: string,
  zone: string,
  until: number,
): number[] {
  const { range } = recurrence;
  const iana = zoneOf(range.recurrenceTimeZone || zone);
  const end = range.type === 'endDate' ? Temporal.PlainDate.from(range.endDate ?? '') : null;
  const most = range.type === 'numbered' ? (range.numberOfOccurrences ?? 0) : Infinity;
  const starts: number[] = [];
  for (const date of datesOf(recurrence)) {
    if (starts.length >= most) break;
    if (end && Temporal.PlainDate.compare(date, end) > 0) break;
    const start = date.toZonedDateTime({ timeZone: iana, plainTime: time }).epochMilliseconds;
    if (start >= until) break;
    starts.push(start);
  }
  return starts;
}

function* datesOf({ pattern, range }: Recurrence): Generator<Temporal.PlainDate> {
  const first = Temporal.PlainDate.from(range.startDate);
  for (let period = 0; period < MOST_PERIODS; period += 1) {
    for (const date of datesIn(pattern, first, period * (pattern.interval ?? 1))) {
      if (Temporal.PlainDate.compare(date, first) >= 0) yield date;
    }
  }
}

/** The dates of one day, week, month or year of a series, in order. */
function datesIn(
  pattern: Recurrence['pattern'],
  first: Temporal.PlainDate,
  step: number,
): Temporal.PlainDate[] {
  const weekdays = new Set(pattern.daysOfWeek?.map((day) => DAYS.indexOf(day.toLowerCase())));
  switch (pattern.type) {
    case 'daily':
      return [first.add({ days: step })];
    case 'weekly': {
      const begins = DAYS.indexOf((pattern.firstDayOfWeek ?? 'sunday').toLowerCase());
      const back = ((first.dayOfWeek % 7) - begins + 7) % 7;
      const week = first.subtract({ days: back }).add({ days: 7 * step });
      return Array.from({ length: 7 }, (_, day) => week.add({ days: day })).filter((date) =>
        weekdays.has(date.dayOfWeek % 7),
      );
    }
    case 'absoluteMonthly':
      return [
        first
          .with({ day: 1 })
          .add({ months: step })
          .with({ day: pattern.dayOfMonth ?? 1 }),
      ];
    case 'relativeMonthly':
      return relative(first.with({ day: 1 }).add({ months: step }), weekdays, pattern.index);
    default: {
      const month = first.with({ month: pattern.month ?? 1, day: 1 }).add({ years: step });
      if (pattern.type === 'absoluteYearly') return [month.with({ day: pattern.dayOfMonth ?? 1 })];
      return relative(month, weekdays, pattern.index);
    }
  }
}

function relative(
  month: Temporal.PlainDate,
  weekdays: Set<number>,
  index = 'first',
): Temporal.PlainDate[] {
  const matching = Array.from({ length: month.daysInMonth }, (_, day) =>
    month.with({ day: day + 1 }),
  ).filter((date) => weekdays.has(date.dayOfWeek % 7));
  const found = index === 'last' ? matching.at(-1) : matching[INDEXES.indexOf(index)];
  return found ? [found] : [];
}
