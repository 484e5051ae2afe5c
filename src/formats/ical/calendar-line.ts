import ICAL from 'ical.js';
import { readRecurrenceLines, InvalidRecurrenceError } from '../recurrence/recurrence-lines.ts';
import { type ContentLine, type LineParts, splitLine } from './content-lines.ts';
import { lineOf } from './kept-lines.ts';
import { libraryLine, type ReadLine, unreadableLine } from './object-tree.ts';

/*
 * Reads the lines of calendar files. Values of the types that Carillon computes with are checked
 * here: the library takes some wrong ones for others, and throws for some only when they are used.
 */

/** The components whose values Carillon computes with. */
const CHECKED = ['vevent', 'valarm', 'standard', 'daylight'];
const MOMENTS = [
  'dtstart',
  'dtend',
  'recurrence-id',
  'dtstamp',
  'created',
  'last-modified',
  'exdate',
  'rdate',
];
const RULES = ['rrule', 'exrule'];
const OFFSETS = ['tzoffsetfrom', 'tzoffsetto'];

const DESIGN = ICAL.design.icalendar;

/** Reads a line. A value that cannot be read costs only itself. */
export function readCalendarLine(line: ContentLine, component: string): ReadLine {
  const parts = splitLine(line.text);
  if (!parts) return unreadableLine(line, 'it has no colon after a name');
  const { name, parameters, value } = parts;
  if (CHECKED.includes(component)) {
    const isAbsolute = name === 'trigger' && /;VALUE=DATE-TIME/i.test(parameters);
    const isPeriod = /;VALUE=PERIOD/i.test(parameters);
    if ((MOMENTS.includes(name) && !isPeriod) || isAbsolute) return readMoments(line, parts);
    if (name === 'duration' || name === 'trigger')
      return checked(line, parts, DURATION.test(value) ? value : null, 'a duration such as PT1H');
    if (OFFSETS.includes(name))
      return checked(line, parts, offsetText(value), 'an offset such as +0100');
    if (RULES.includes(name)) return readRule(line, parts);
  }
  const property = libraryLine(line.text, DESIGN);
  return property
    ? { properties: [property], unreadable: [] }
    : unreadableLine(line, 'its parameters or its value are malformed');
}

const DURATION =
  /^[+-]?P(?=.)(?:\d{1,6}W)?(?:\d{1,6}D)?(?:T(?=\d)(?:\d{1,9}H)?(?:\d{1,9}M)?(?:\d{1,9}S)?)?$/i;

/** @param value as the library reads it; `null` if it cannot be read */
function checked(
  line: ContentLine,
  parts: LineParts,
  value: string | null,
  form: string,
): ReadLine {
  const property =
    value === null ? null : libraryLine(lineOf({ ...parts, value: value.toUpperCase() }), DESIGN);
  return property
    ? { properties: [property], unreadable: [] }
    : unreadableLine(line, `it needs ${form}`);
}

function offsetText(value: string): string | null {
  const [, sign, hour, minute, second = ''] =
    /^([+-])([01]\d|2[0-3]):?([0-5]\d)(?::?([0-5]\d))?$/.exec(value.trim()) ?? [];
  return sign === undefined ? null : `${sign}${hour}${minute}${second}`;
}

/** Reads a rule. Names and values may be in small letters, and parts may be empty. */
function readRule(line: ContentLine, parts: LineParts): ReadLine {
  const rule = parts.value
    .toUpperCase()
    .split(';')
    .map((part) => part.trim())
    .filter(Boolean)
    .join(';');
  const problem = problemOf(rule);
  if (problem !== null) return unreadableLine(line, problem);
  return checked(line, parts, rule, 'parameters that can be read');
}

/** Why a rule cannot be read; `null` if it can. */
function problemOf(rule: string): string | null {
  try {
    readRecurrenceLines([`RRULE:${rule}`], { zone: 'UTC', allDay: false });
    ICAL.Recur.fromString(rule);
    return null;
  } catch (error) {
    if (error instanceof InvalidRecurrenceError) return error.message;
    return error instanceof Error ? error.message.slice(0, 100) : 'it is not a rule';
  }
}

const MOMENT = /^(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d)(?:\.\d{1,9})?)?(Z)?)?$/i;

/** A DATE or DATE-TIME in the basic form; `null` if the value is neither. */
function momentText(value: string): string | null {
  const [, year = '', month = '', day = '', hour, minute = '00', second = '00', utc = ''] =
    MOMENT.exec(value.trim()) ?? [];
  // `Date.UTC` turns the 31st of April into the 1st of May.
  if (new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() !== Number(day))
    return null;
  if (hour === undefined) return year && `${year}${month}${day}`;
  if (hour === '24' && minute === '00' && second === '00')
    return `${dayAfter(year, month, day)}T000000${utc.toUpperCase()}`;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null;
  return `${year}${month}${day}T${hour}${minute}${second}${utc.toUpperCase()}`;
}

/** Some programs write midnight as the end of a day (ISO 8601 allowed that). */
const dayAfter = (year: string, month: string, day: string): string =>
  new Date(Date.UTC(Number(year), Number(month) - 1, Number(day) + 1))
    .toISOString()
    .slice(0, 10)
    .replaceAll('-', '');

/**
 * Reads dates and times. The form of a value decides whether it is a date, whatever VALUE says. If
 * some of several values cannot be read, the others are still read.
 */
function readMoments(line: ContentLine, given: LineParts): ReadLine {
  const parts = withUnquotedColons(given);
  const values = parts.value.split(',').map((text) => ({ text, moment: momentText(text) || null }));
  const good = values.flatMap(({ moment }) => moment ?? []);
  const dates = good.filter((moment) => !moment.includes('T'));
  const times = good.filter((moment) => moment.includes('T'));
  const rest = parts.parameters.replaceAll(/;VALUE=[^;:]*/gi, '');
  const properties = [
    dates.length > 0
      ? libraryLine(
          lineOf({ ...parts, parameters: `${rest};VALUE=DATE`, value: dates.join(',') }),
          DESIGN,
        )
      : null,
    times.length > 0
      ? libraryLine(
          lineOf({
            ...parts,
            parameters: parts.name === 'trigger' ? `${rest};VALUE=DATE-TIME` : rest,
            value: times.join(','),
          }),
          DESIGN,
        )
      : null,
  ].filter((property) => property !== null);
  const why = 'it needs dates or times such as 20300131T090000Z';
  if (properties.length === 0) return unreadableLine(line, why);
  const unreadable = values
    .filter(({ moment }) => moment === null)
    .map(({ text }) => ({ name: parts.name, line: lineOf({ ...parts, value: text }), why }));
  return { properties, unreadable };
}

/** Some programs write a zone such as `(UTC-05:00) Eastern Time` without quotes. */
function withUnquotedColons(parts: LineParts): LineParts {
  const [, inside, value] = /^(.*):([\dTZ,]+)$/is.exec(parts.value) ?? [];
  const zone = /;TZID=([^";]*)$/i.exec(parts.parameters);
  if (inside === undefined || value === undefined || !zone) return parts;
  const parameters = `${parts.parameters.slice(0, zone.index)};TZID="${zone[1]}:${inside.replaceAll('"', '')}"`;
  return { ...parts, parameters, value };
}
