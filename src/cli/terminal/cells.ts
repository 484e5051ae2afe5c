export type Row = Record<string, unknown>;

export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads a column; `a.b` reads field `b` of object `a`, or of each object if `a` is a list.
 */
export function pick(value: unknown, column: string): unknown {
  const [name = '', ...rest] = column.split('.');
  if (Array.isArray(value)) return value.map((item) => pick(item, column));
  const inner = isRow(value) ? value[name] : undefined;
  return rest.length === 0 ? inner : pick(inner, rest.join('.'));
}

/** Names of fields that contain Unix seconds. */
const TIME_FIELD = /(^|[._])(date|at|time|timestamp|datetime)$/;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
/** Smaller numbers are no times of mail: 1973. */
const FIRST_SECOND = 100_000_000;
const LAST_SECOND = 100_000_000_000;

const pad = (value: number): string => String(value).padStart(2, '0');

/**
 * Local time for people, such as `2026-11-24 09:30:00`. The environment variable TZ chooses the
 * time zone.
 */
export function localTime(at: Date): string {
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  return `${day} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

function timeOf(value: unknown, name: string): Date | undefined {
  if (typeof value === 'string' && ISO_TIME.test(value)) return new Date(value);
  const isSeconds =
    typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= FIRST_SECOND &&
    value < LAST_SECOND;
  return isSeconds && TIME_FIELD.test(name) ? new Date(value * 1000) : undefined;
}

function objectCell(object: Row): string {
  const { email, start_time: start, end_time: end } = object;
  if (typeof email === 'string') return email;
  if (typeof start === 'number' && typeof end === 'number')
    return `${cell(start, 'start_time')} – ${cell(end, 'end_time')}`;
  // `object` names the kind of what is shown, such as "timespan".
  return Object.entries(object)
    .filter(([name, value]) => name !== 'object' && value !== null && value !== undefined)
    .map(([name, value]) => `${name}: ${cell(value, name)}`)
    .join(', ');
}

/**
 * Text of a value for people: times in local time, an address object as its address, a time span as
 * its two times, any other object as its fields, a list as its items.
 * @param name of the field, which decides whether a number is a time
 */
export function cell(value: unknown, name = ''): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map((item) => cell(item, name)).join(', ');
  const time = timeOf(value, name);
  if (time) return localTime(time);
  return isRow(value) ? objectCell(value) : String(value);
}
