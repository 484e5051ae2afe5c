import { RRuleTemporal } from 'rrule-temporal';
import { Temporal } from 'temporal-polyfill';
import type { EventTime, GoogleEvent } from './google-event.ts';

/** Milliseconds of a time. A day begins at midnight UTC; a time without offset is in `zone`. */
export function instantOf(time: EventTime, zone: string): number {
  if (time.date) return Date.parse(`${time.date}T00:00:00Z`);
  const text = time.dateTime ?? '';
  if (/(Z|[+-]\d\d:\d\d)$/.test(text)) return Date.parse(text);
  const wall = Temporal.PlainDateTime.from(text);
  return wall.toZonedDateTime(time.timeZone ?? zone).epochMilliseconds;
}

/** Writes a time as Google does: with the offset of the event's zone. */
export function shownTime(time: EventTime, zone: string): EventTime {
  if (time.date) return { date: time.date };
  return timeAt(instantOf(time, zone), time.timeZone ?? zone, time.timeZone !== undefined);
}

/** The time of an occurrence, in the form of the series' own time. */
export function timeLike(time: EventTime, instant: number, zone: string): EventTime {
  if (time.date) return { date: new Date(instant).toISOString().slice(0, 10) };
  return timeAt(instant, time.timeZone ?? zone, time.timeZone !== undefined);
}

function timeAt(instant: number, zone: string, hasZone: boolean): EventTime {
  const zoned = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone);
  const wall = zoned.toPlainDateTime().toString({ smallestUnit: 'second' });
  const offset = zoned.offset === '+00:00' ? 'Z' : zoned.offset;
  return { dateTime: wall + offset, ...(hasZone && { timeZone: zone }) };
}

/** The part of an instance's id that names its original start. */
export function instanceSuffix(original: EventTime, zone: string): string {
  if (original.date) return original.date.replaceAll('-', '');
  return stamp(instantOf(original, zone));
}

function stamp(instant: number): string {
  return new Date(instant).toISOString().replace(/[-:]|\.\d+/g, '');
}

/** Original starts of a series within a range, in order. Empty for an event that is no series. */
export function startsOf(
  { start, recurrence = [] }: GoogleEvent,
  from: number,
  to: number,
  calendarZone: string,
): number[] {
  if (!start || recurrence.length === 0) return [];
  const first = instantOf(start, calendarZone);
  const zone = start.date ? 'UTC' : (start.timeZone ?? calendarZone);
  const wall = Temporal.Instant.fromEpochMilliseconds(first)
    .toZonedDateTimeISO(zone)
    .toPlainDateTime()
    .toString({ smallestUnit: 'second' })
    .replace(/[-:]/g, '');
  const listed = (name: string) => recurrence.flatMap((line) => datesOf(line, name, zone));
  const without = new Set(listed('EXDATE'));
  const found = new Set(listed('RDATE').filter((at) => at >= from && at < to));
  if (first >= from && first < to) found.add(first);
  for (const line of recurrence.filter((one) => one.startsWith('RRULE:'))) {
    const rule = new RRuleTemporal({ rruleString: `DTSTART;TZID=${zone}:${wall}\n${line}` });
    for (const { epochMilliseconds: at } of rule.between(new Date(from), new Date(to), true))
      if (at < to) found.add(at);
  }
  return [...found].filter((at) => !without.has(at)).sort((a, b) => a - b);
}

/** Instants of a line of dates, such as `EXDATE;TZID=Europe/Berlin:20261123T100000`. */
function datesOf(line: string, name: string, zone: string): number[] {
  const [, parameters = '', values = ''] =
    new RegExp(`^${name}((?:;[^:]*)?):(.*)$`).exec(line) ?? [];
  const own = /TZID=([^;:]+)/.exec(parameters)?.[1] ?? zone;
  return values
    .split(',')
    .filter(Boolean)
    .map((value) => {
      const [, y, m, d, h = '00', i = '00', s = '00', utc] =
        /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?$/.exec(value) ?? [];
      const text = `${y}-${m}-${d}T${h}:${i}:${s}`;
      return utc === 'Z' || zone === 'UTC'
        ? Date.parse(`${text}Z`)
        : instantOf({ dateTime: text }, own);
    });
}
