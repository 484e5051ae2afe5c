// A plus sign that a client did not escape in a query arrives as a space.
const ISO_TIME = new RegExp(
  '^(?<day>\\d{4}-?\\d\\d-?\\d\\d)' +
    '(?:[T ](?<hour>\\d\\d):?(?<minute>\\d\\d)(?::?(?<second>\\d\\d)(?:[.,]\\d{1,9})?)?' +
    '(?: ?(?:Z|UTC|GMT|(?<sign>[+ -])(?<hours>\\d\\d)(?::?(?<minutes>\\d\\d))?))?)?$',
  'i',
);

/** `String(new Date())`: what some Node clients write into a query. */
const JAVASCRIPT_TIME =
  /^[a-z]{3} ([a-z]{3} \d\d \d{4} \d\d:\d\d:\d\d GMT)([+ -])(\d{4})(?: \(.{1,60}\))?$/i;

/**
 * Reads a time as clients write it: ISO 8601 (`2027-03-10T12:00:00+01:00`, `20270310T110000Z`,
 * `2027-03-10`), also with a space for the `T` and before the offset, or the text of a JavaScript
 * `Date`. A time without an offset is in UTC, and a day is its first second in UTC. Fractions of a
 * second are dropped.
 * @returns Unix seconds, or `undefined` if the text is no such time or the day does not exist
 */
export function secondsOfTimeText(text: string): number | undefined {
  const trimmed = text.trim();
  const [, wall = '', sign = '', digits = ''] = JAVASCRIPT_TIME.exec(trimmed) ?? [];
  if (wall) {
    const ms = Date.parse(`${wall}${sign === '-' ? '-' : '+'}${digits}`);
    return Number.isNaN(ms) ? undefined : ms / 1000;
  }
  const parts = ISO_TIME.exec(trimmed)?.groups;
  return parts && secondsOfIsoTime(parts);
}

function secondsOfIsoTime(parts: Readonly<Record<string, string>>): number | undefined {
  const number = (name: string) => Number(parts[name] ?? 0);
  const [hour, minute, second] = [number('hour'), number('minute'), number('second')];
  const [hours, minutes] = [number('hours'), number('minutes')];
  if (hour > 23 || minute > 59 || second > 60 || hours > 23 || minutes > 59) return undefined;
  const day = secondsOfDay((parts['day'] ?? '').replaceAll('-', ''));
  if (day === undefined) return undefined;
  const offset = (hours * 60 + minutes) * (parts['sign'] === '-' ? -60 : 60);
  return day + hour * 3_600 + minute * 60 + second - offset;
}

/** @param digits `YYYYMMDD` */
function secondsOfDay(digits: string): number | undefined {
  const day = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}`;
  const at = new Date(`${day}T00:00:00Z`);
  // `Date` reads 30 February as 2 March.
  const exists = !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
  return exists ? at.getTime() / 1000 : undefined;
}
