import { Temporal } from 'temporal-polyfill';
import { windowsZone } from '../../../../src/formats/ical/zones/windows-zones.ts';
import { GraphError, type Json } from '../http/types.ts';

/** Zones by their names. Making a formatter takes a large part of a response's time. */
const known = new Map<string, string>();

/** IANA zone of a Windows or IANA name. @throws {GraphError} 400 */
export function zoneOf(name: string): string {
  const iana = windowsZone(name) ?? name;
  try {
    const zone =
      known.get(iana) ??
      new Intl.DateTimeFormat('en', { timeZone: iana }).resolvedOptions().timeZone;
    known.set(iana, zone);
    return zone;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new GraphError(
      400,
      'TimeZoneNotSupportedException',
      `A valid TimeZone value must be specified. The following TimeZone value is not supported: '${name}'.`,
    );
  }
}

/** Unix milliseconds of a `dateTimeTimeZone`. @throws {GraphError} 400 */
export function instantOf(value: Json): number {
  const { dateTime, timeZone } = value;
  const text = String(dateTime);
  if (/(Z|[+-]\d\d:\d\d)$/.test(text)) return Date.parse(text);
  try {
    const wall = Temporal.PlainDateTime.from(text);
    return wall.toZonedDateTime(zoneOf(String(timeZone ?? 'UTC'))).epochMilliseconds;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new GraphError(400, 'ErrorInvalidRequest', `The time '${text}' is not valid.`);
  }
}

/** A `dateTimeTimeZone` in a zone, as Graph writes it: without offset, with seven decimals. */
export function inZone(ms: number, zone: string): Json {
  const wall = Temporal.Instant.fromEpochMilliseconds(ms)
    .toZonedDateTimeISO(zoneOf(zone))
    .toPlainDateTime();
  return { dateTime: `${wall.toString({ smallestUnit: 'second' })}.0000000`, timeZone: zone };
}

/** An instant of a query such as `startDateTime`. @throws {GraphError} 400 */
export function queryInstant(query: URLSearchParams, name: string): number {
  const value = query.get(name);
  const ms = Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(value ?? '') ? (value ?? '') : `${value}Z`);
  if (value !== null && !Number.isNaN(ms)) return ms;
  throw new GraphError(
    400,
    'ErrorInvalidParameter',
    `This request requires a time window specified by the query string parameters StartDateTime and EndDateTime.`,
  );
}
