import { fromUnixSeconds } from '../../../platform/base/time/unix-seconds.ts';
import { startOfDay } from '../../../platform/base/time/time-zone.ts';
import type { When } from '../event-values.ts';

/**
 * Fields of `when` as the caller sent them, with their types checked. The set of fields decides the
 * form.
 */
export interface WhenFields {
  time?: number;
  timezone?: string;
  start_time?: number;
  end_time?: number;
  start_timezone?: string;
  end_timezone?: string;
  date?: string;
  start_date?: string;
  end_date?: string;
}

/** Result of reading a `when`: the value, or an error text. */
export type WhenResult = { when: When } | { problem: string };

const FORMS = [
  ['time'],
  ['start_time', 'end_time'],
  ['date'],
  ['start_date', 'end_date'],
] as const satisfies (keyof WhenFields)[][];
const ZONES: readonly string[] = ['timezone', 'start_timezone', 'end_timezone'];

const INVALID_KEYS: WhenResult = {
  problem:
    'When object had invalid keys. Use time, start_time with end_time, date, or start_date with end_date.',
};

/** An object with this key, or an empty object if there is no value. */
const given = <K extends string, V>(key: K, value: V | undefined) =>
  (value === undefined ? {} : { [key]: value }) as Partial<Record<K, V>>;

/**
 * Reads `when`; its keys decide the form: time, timespan, date or datespan. A timespan or datespan
 * with equal ends becomes a time or date. A start after the end, and any other set of keys, is a
 * problem. Zones of another form are no problem, because clients that change the form of an event
 * leave the zones that they have read.
 * @param keys every key that was sent with a value, except `object`
 */
export function readWhen(fields: WhenFields, keys: readonly string[]): WhenResult {
  const times = keys.filter((key) => !ZONES.includes(key));
  const form = FORMS.find(
    (names) => names.length === times.length && names.every((name) => times.includes(name)),
  );
  const { timezone, start_timezone } = fields;
  switch (form?.[0]) {
    case 'time': {
      const zone = given('timezone', timezone ?? start_timezone);
      return { when: { object: 'time', time: fields.time!, ...zone } };
    }
    case 'start_time':
      return readTimespan({ ...fields, ...given('start_timezone', start_timezone ?? timezone) });
    case 'date':
      return { when: { object: 'date', date: fields.date! } };
    case 'start_date':
      return readDatespan(fields.start_date!, fields.end_date!);
    default:
      return INVALID_KEYS;
  }
}

function readTimespan(fields: WhenFields): WhenResult {
  const { start_time = 0, end_time = 0, start_timezone, end_timezone } = fields;
  if (start_time > end_time) return { problem: `'start_time' must be < 'end_time'.` };
  if (start_time === end_time) {
    return { when: { object: 'time', time: start_time, ...given('timezone', start_timezone) } };
  }
  return {
    when: {
      object: 'timespan',
      start_time,
      end_time,
      ...given('start_timezone', start_timezone),
      ...given('end_timezone', end_timezone),
    },
  };
}

function readDatespan(start_date: string, end_date: string): WhenResult {
  // ISO dates sort as text.
  if (start_date > end_date) return { problem: `'start_date' must be < 'end_date'.` };
  if (start_date === end_date) return { when: { object: 'date', date: start_date } };
  return { when: { object: 'datespan', start_date, end_date } };
}

/**
 * Gives `after` the zone of `before` if `after` names no zone itself.
 * @param zone of the series; `undefined` if not known
 */
export function inZoneOf(before: When, after: When, zone: string | undefined): When {
  const own =
    'timezone' in before
      ? before.timezone
      : 'start_timezone' in before
        ? before.start_timezone
        : zone;
  if (own === undefined) return after;
  if (after.object === 'time') return { ...after, timezone: after.timezone ?? own };
  if (after.object === 'timespan') return { ...after, start_timezone: after.start_timezone ?? own };
  return after;
}

/**
 * `when` with a zone for each time. Some clients cannot read a time without its zone.
 * @param zone of a series; times that were stored without a zone and do not recur are in UTC
 */
export function withZones(when: When, zone = 'UTC'): When {
  if (when.object === 'time') return { ...when, timezone: when.timezone ?? zone };
  if (when.object !== 'timespan') return when;
  const { start_timezone = zone, end_timezone = start_timezone } = when;
  return { ...when, start_timezone, end_timezone };
}

/**
 * Removes the zones that `withZones` has added from a `when` that a client has read and sends back.
 * Only what the client changed is a change.
 */
export function withoutAddedZones(before: When, after: When, zone?: string): When {
  const known: Partial<Record<string, unknown>> = before;
  const shown: Partial<Record<string, unknown>> = withZones(before, zone);
  const isAdded = ([key, value]: [string, unknown]) =>
    ZONES.includes(key) && known[key] === undefined && value === shown[key];
  return Object.fromEntries(Object.entries(after).filter((entry) => !isAdded(entry))) as When;
}

const DATE = /^[1-9]\d{3}-\d{2}-\d{2}$/;
const dayMs = (date: string): number => Date.parse(`${date}T00:00:00Z`);

/** Whether `text` is an existing day of the years 1000 to 9999, as YYYY-MM-DD. */
export function isDate(text: string): boolean {
  if (!DATE.test(text)) return false;
  const parsed = dayMs(text);
  // The parser accepts the 31st of every month.
  return !Number.isNaN(parsed) && new Date(parsed).toISOString().startsWith(text);
}

export { lastsDays as isAllDay } from '../../../formats/recurrence/series-source.ts';

const ONE_DAY_MS = 86_400_000;
/** Years of five digits are not valid in most date formats. */
const END_OF_TIME_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Start and end instant of `when`. All-day events last from the first instant of their first day to
 * the last instant of their last day, both included.
 * @param zone of all-day events: the calendar's zone, or UTC
 */
export function boundsOf(when: When, zone: string): { startsAt: Date; endsAt: Date } {
  switch (when.object) {
    case 'time':
      return { startsAt: fromUnixSeconds(when.time), endsAt: fromUnixSeconds(when.time) };
    case 'timespan':
      return { startsAt: fromUnixSeconds(when.start_time), endsAt: fromUnixSeconds(when.end_time) };
    case 'date':
    case 'datespan': {
      const [first, last] =
        when.object === 'date' ? [when.date, when.date] : [when.start_date, when.end_date];
      return {
        startsAt: startOfDay(dayMs(first), zone),
        endsAt: new Date(
          Math.min(startOfDay(dayMs(last) + ONE_DAY_MS, zone).getTime(), END_OF_TIME_MS),
        ),
      };
    }
  }
}
