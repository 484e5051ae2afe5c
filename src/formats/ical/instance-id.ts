import ICAL from 'ical.js';
import { midnightOf, nearestDay } from '../recurrence/recurrence-lines.ts';
import { UnreadableCalendarError } from './ical-parse.ts';
import { instantOf, wallMs } from './zones/ical-zone.ts';
import { KEPT, quoted } from './kept-lines.ts';
import { readSequence } from './ical-sequence.ts';

/* Which instance of a series a VEVENT describes (RFC 5545 3.8.4.4). */

const isTime = (value: unknown): value is ICAL.Time => value instanceof ICAL.Time;

/** `2030-01-31` */
export const dateText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Accepts years with four digits only, because other programs may not understand others. */
export function isYear(seconds: number): boolean {
  const year = new Date(seconds * 1000).getUTCFullYear();
  return year >= 1000 && year <= 9999;
}

/** The day of an all-day series that a value means, as its midnight in UTC. */
export function dayOf(value: ICAL.Time): number {
  const wall = wallMs(value);
  return value.zone === ICAL.Timezone.utcTimezone && !value.isDate
    ? nearestDay(wall)
    : midnightOf(wall);
}

/** A changed instance of a series. */
export interface InstanceId {
  /** `20260301T090000Z`, or `20260301` for all-day events. */
  key: string;
  seconds: number;
}

/**
 * The instance that a VEVENT describes; `null` if it is a series or a single event. RECURRENCE-ID
 * may have another form than the start of the series. In an all-day series the day counts. In a
 * series with times, a day means the instance on that day, and a floating time is in the zone of
 * the series.
 * @param series the series in the same file; absent if the file does not contain it
 */
export function instanceIdOf(
  event: ICAL.Component,
  root: ICAL.Component,
  series?: ICAL.Component,
): InstanceId | null {
  const property = event.getFirstProperty('recurrence-id');
  const value = property?.getFirstValue();
  if (!property || !isTime(value)) return null;
  const first = series?.getFirstProperty('dtstart');
  const begin = first?.getFirstValue();
  const known = isTime(begin) ? begin : value;
  if (known.isDate) return dayId(dayOf(value));
  const zone = first?.getFirstParameter('tzid') ?? undefined;
  if (!value.isDate) return timeId(instantOf(property, value, root, zone).seconds);
  if (!first || !isTime(begin)) return dayId(dayOf(value));
  const onThatDay = begin.clone();
  Object.assign(onThatDay, { year: value.year, month: value.month, day: value.day });
  return timeId(instantOf(first, onThatDay, root).seconds);
}

/** The instance that begins at a time; of an all-day series on a day, given as midnight in UTC. */
export function instanceIdAt(seconds: number, allDay: boolean): InstanceId {
  return allDay ? dayId(seconds * 1000) : timeId(seconds);
}

function dayId(dayMs: number): InstanceId {
  return { key: dateText(dayMs).replaceAll('-', ''), seconds: dayMs / 1000 };
}

function timeId(seconds: number): InstanceId {
  if (!isYear(seconds)) throw new UnreadableCalendarError('a time out of range');
  return { key: new Date(seconds * 1000).toISOString().replaceAll(/[-:]|\.\d+/g, ''), seconds };
}

/** Most VEVENTs of an object that are read: the series and its changed instances. */
const MOST_EVENTS = 500;

/** The VEVENT of the series in an object; `undefined` if there are only instances. */
export function seriesIn(root: ICAL.Component): ICAL.Component | undefined {
  return root
    .getAllSubcomponents('vevent')
    .find((event) => !event.hasProperty('recurrence-id') && !isLost(event));
}

/**
 * The VEVENTs of an object by instance; `null` is the key of the series. Of several revisions, the
 * latest is returned. All have one UID (RFC 4791 4.1): of several events, the first is returned.
 * @param onProblem receives a sentence about each VEVENT that is left out
 */
export function eventsIn(
  root: ICAL.Component,
  onProblem: (problem: string) => void = () => undefined,
): Map<string | null, ICAL.Component> {
  const found = new Map<string | null, ICAL.Component>();
  const series = seriesIn(root);
  const all = root.getAllSubcomponents('vevent');
  if (all.length > MOST_EVENTS) onProblem(`only the first ${MOST_EVENTS} events are read`);
  for (const event of all.slice(0, MOST_EVENTS)) {
    const id = readInstanceId(event, root, series);
    if (id === undefined) {
      onProblem('an event is left out: its RECURRENCE-ID cannot be read');
      continue;
    }
    const key = id?.key ?? null;
    const other = found.get(key);
    if (other && uidOf(other) !== uidOf(event)) {
      onProblem(
        `an event is left out: a file has one UID, and it has ${quoted(uidOf(event))}, too`,
      );
      continue;
    }
    if (!other || readSequence(event) >= readSequence(other)) found.set(key, event);
  }
  return found;
}

const uidOf = (event: ICAL.Component): string => String(event.getFirstPropertyValue('uid') ?? '');

/** Whether a VEVENT has a RECURRENCE-ID, but none that can be read. */
function isLost(event: ICAL.Component): boolean {
  const property = event.getFirstProperty('recurrence-id');
  if (property) return !isTime(property.getFirstValue());
  return event
    .getAllProperties(KEPT)
    .some((one) => one.getFirstParameter('of') === 'recurrence-id');
}

/** Like `instanceIdOf`, but `undefined` if it cannot be said which instance a VEVENT describes. */
export function readInstanceId(
  event: ICAL.Component,
  root: ICAL.Component,
  series: ICAL.Component | undefined,
): InstanceId | null | undefined {
  if (isLost(event)) return undefined;
  try {
    return instanceIdOf(event, root, series);
  } catch (error) {
    if (error instanceof UnreadableCalendarError || error instanceof RangeError) return undefined;
    throw error;
  }
}
