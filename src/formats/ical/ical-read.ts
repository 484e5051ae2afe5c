import ICAL from 'ical.js';
import {
  CONFERENCING_PROPERTY,
  emailOf,
  type IcalAnswer,
  type IcalConferencing,
  type IcalFields,
  type IcalParticipant,
  type IcalStatus,
  type IcalWhen,
  PARTSTAT,
  uriValue,
} from './ical-fields.ts';
import { dateText, isYear } from './instance-id.ts';
import { UnreadableCalendarError } from './ical-parse.ts';
import { clocksOf, instantOf, localStamp, wallMs, type ZonedInstant } from './zones/ical-zone.ts';
import { quoted, warn } from './kept-lines.ts';
import { canonicalLines } from '../recurrence/canonical-lines.ts';
import { isUtc } from './zones/zone-names.ts';

const DAY_SECONDS = 86_400;
/** A hundred years. */
const LONGEST_SECONDS = 36_525 * DAY_SECONDS;

/** Text of a property; empty if it is absent. */
function text(event: ICAL.Component, name: string): string {
  const value = event.getFirstPropertyValue(name);
  return typeof value === 'string' ? value : '';
}

const isTime = (value: unknown): value is ICAL.Time => value instanceof ICAL.Time;

function assertYear(seconds: number): void {
  if (!isYear(seconds)) throw new UnreadableCalendarError('a time out of range');
}

/** Length of a DURATION. Days are calendar days; the rest is exact time. */
function durationOf(event: ICAL.Component): { days: number; seconds: number } | undefined {
  const value = event.getFirstPropertyValue('duration');
  if (!(value instanceof ICAL.Duration)) return undefined;
  // The library steps through the days one at a time.
  if (Math.abs(value.toSeconds()) > LONGEST_SECONDS) {
    warn(event, 'The DURATION is left out: it is longer than a hundred years');
    return undefined;
  }
  const sign = value.isNegative ? -1 : 1;
  return {
    days: sign * (value.weeks * 7 + value.days),
    seconds: sign * (value.hours * 3600 + value.minutes * 60 + value.seconds),
  };
}

/**
 * The time of a VEVENT.
 * @throws {UnreadableCalendarError} if it has none
 */
export function readWhen(event: ICAL.Component, root: ICAL.Component): IcalWhen {
  const property = event.getFirstProperty('dtstart');
  const start = property?.getFirstValue();
  if (!property || !isTime(start)) throw new UnreadableCalendarError('an event without DTSTART');
  const endProperty = event.getFirstProperty('dtend');
  const end = endProperty?.getFirstValue();
  const duration = durationOf(event);
  if (start.isDate) {
    const first = wallMs(start);
    assertYear(first / 1000);
    const after = isTime(end) ? wallMs(end) : first + (duration?.days ?? 1) * DAY_SECONDS * 1000;
    const last = Math.max(after - DAY_SECONDS * 1000, first);
    if (dateText(last) === dateText(first) || !isYear(last / 1000))
      return { object: 'date', date: dateText(first) };
    return { object: 'datespan', start_date: dateText(first), end_date: dateText(last) };
  }
  const from = instantOf(property, start, root);
  assertYear(from.seconds);
  const given = endProperty && isTime(end) ? { endProperty, end } : null;
  const to = endOf({ property, start, from }, given, duration, root);
  const zone = from.zone;
  if (!isYear(to.seconds)) warn(event, 'The end is left out: its year is out of range');
  if (to.seconds <= from.seconds || !isYear(to.seconds))
    return { object: 'time', time: from.seconds, ...(zone ? { timezone: zone } : {}) };
  return {
    object: 'timespan',
    start_time: from.seconds,
    end_time: to.seconds,
    ...(zone ? { start_timezone: zone } : {}),
    ...(to.zone ? { end_timezone: to.zone } : {}),
  };
}

function endOf(
  begin: { property: ICAL.Property; start: ICAL.Time; from: ZonedInstant },
  given: { endProperty: ICAL.Property; end: ICAL.Time } | null,
  duration: { days: number; seconds: number } | undefined,
  root: ICAL.Component,
): ZonedInstant {
  if (given) return instantOf(given.endProperty, given.end, root);
  if (!duration) return begin.from;
  const moved = begin.start.clone();
  moved.adjust(duration.days, 0, 0, 0);
  const { seconds, zone } = instantOf(begin.property, moved, root);
  return { seconds: seconds + duration.seconds, zone };
}

/**
 * Most RRULE lines that are read. RFC 5545 3.8.5.3 recommends at most one; the API accepts up to
 * this many.
 */
const MOST_RULES = 10;
/** Longest rule in UTF-16 units. */
const LONGEST_RULE = 2_000;
/** Most EXDATE lines, and most dates in them. Instances of later exclusions are shown. */
const MOST_EXCLUSIONS = 1_000;

/**
 * True if a series has more or longer rules than are supported. It is then read as a single event
 * at its first time.
 */
export function hasTooManyRules(event: ICAL.Component): boolean {
  const rules = event.getAllProperties('rrule');
  return (
    rules.length > MOST_RULES || rules.some((rule) => rule.toICALString().length > LONGEST_RULE)
  );
}

/** Properties of a series that the API does not have (ADR 0042). */
const UNSHOWN = ['rdate', 'exrule'];

function readRecurrence(
  event: ICAL.Component,
  root: ICAL.Component,
  when: IcalWhen,
): IcalFields['recurrence'] {
  const rules = event.getAllProperties('rrule');
  for (const name of UNSHOWN)
    if (event.hasProperty(name))
      warn(event, `${name.toUpperCase()} is not shown, and stays in the file`);
  if (rules.length === 0) return null;
  if (hasTooManyRules(event)) {
    warn(event, 'The recurrence is left out: it has too many rules or too long ones');
    return null;
  }
  const property = event.getFirstProperty('dtstart');
  const start = property?.getFirstValue();
  const isTimed = property && isTime(start) && !start.isDate;
  const zone = isTimed ? instantOf(property, start, root).zone : undefined;
  const isZoned =
    isTimed && start.zone !== ICAL.Timezone.utcTimezone && property.getFirstParameter('tzid');
  if (isZoned && zone === undefined && !isUtcIn(property, root))
    warn(
      event,
      `No zone of the IANA database is like ${quoted(isZoned)}: the rules are computed in UTC`,
    );
  let dates = 0;
  const exclusions = event
    .getAllProperties('exdate')
    .slice(0, MOST_EXCLUSIONS)
    .filter((one) => (dates += one.getValues().length) <= MOST_EXCLUSIONS)
    .map((one) => exclusionLine(one, root, isTimed === true));
  const rrule = [...rules.map((rule) => rule.toICALString()), ...exclusions];
  const days = isTimed && !event.hasProperty('dtend') ? (durationOf(event)?.days ?? 0) : 0;
  const timezone = zone ?? 'UTC';
  return {
    rrule: canonicalLines({ when, recurrence: { rrule, timezone } }),
    timezone,
    ...(days > 0 ? { nominalDays: days } : {}),
  };
}

/** Whether the clocks of a property's TZID are those of UTC all year. */
function isUtcIn(property: ICAL.Property, root: ICAL.Component): boolean {
  const clocks = clocksOf(property.getFirstParameter('tzid') ?? '', root);
  const value = property.getFirstValue();
  return isUtc(clocks?.zoneNear(isTime(value) ? value.year : 1970) ?? '');
}

/** An EXDATE line without names of zones that are only valid within the file. */
function exclusionLine(property: ICAL.Property, root: ICAL.Component, isTimed: boolean): string {
  const values = property.getValues().filter(isTime);
  const line = ICAL.Property.fromString(property.toICALString());
  if (!line.getFirstParameter('tzid')) return line.toICALString();
  line.removeParameter('tzid');
  if (isTimed && values.every(({ isDate }) => !isDate))
    line.setValues(
      values.map((value) => localStamp(instantOf(property, value, root).seconds, 'UTC')),
    );
  return line.toICALString();
}

const ANSWERS = new Map(
  Object.entries(PARTSTAT).map(([answer, partstat]) => [partstat as string, answer]),
);

const nameOf = (attendee: ICAL.Property): string =>
  attendee.getFirstParameter('cn') || String(attendee.getFirstValue() ?? '');

/** The participants of an event, without duplicate addresses. */
export function readParticipants(event: ICAL.Component): IcalParticipant[] {
  const found = new Map<string, IcalParticipant>();
  for (const property of event.getAllProperties('attendee')) {
    const email = emailOf(property.getFirstValue(), property.getFirstParameter('email'));
    if (!email)
      warn(event, `${quoted(nameOf(property))} is left out: a participant without an address`);
    if (!email || found.has(email)) continue;
    const partstat = (property.getFirstParameter('partstat') ?? '').toUpperCase();
    found.set(email, {
      email,
      name: property.getFirstParameter('cn') ?? '',
      status: (ANSWERS.get(partstat) ?? 'noreply') as IcalAnswer,
      comment: property.getFirstParameter('x-response-comment') || null,
      phone_number: null,
    });
  }
  return [...found.values()];
}

/**
 * Minutes before the start at which an alarm goes off; `undefined` if the alarm has no trigger of
 * this form.
 */
export function popupMinutes(alarm: ICAL.Component): number | undefined {
  const trigger = alarm.getFirstProperty('trigger');
  const value = trigger?.getFirstValue();
  if (!(value instanceof ICAL.Duration)) return undefined;
  if ((trigger?.getFirstParameter('related') ?? 'START').toUpperCase() !== 'START')
    return undefined;
  const seconds = value.toSeconds();
  return seconds <= 0 && seconds % 60 === 0 ? -seconds / 60 : undefined;
}

const METHODS: Record<string, string> = { EMAIL: 'email', AUDIO: 'sound', DISPLAY: 'popup' };
/** Most alarms that are read. */
const MOST_ALARMS = 100;
/** Most reminders that the API returns. */
const MOST_REMINDERS = 10;

function readReminders(event: ICAL.Component): IcalFields['reminders'] {
  const alarms = event
    .getAllSubcomponents('valarm')
    .slice(0, MOST_ALARMS)
    .flatMap((alarm) => {
      const minutes = popupMinutes(alarm);
      return minutes === undefined
        ? []
        : [{ minutes, action: text(alarm, 'action').toUpperCase() }];
    })
    .slice(0, MOST_REMINDERS);
  const [first] = alarms;
  if (!first) return null;
  return {
    reminder_minutes: `[${alarms.map(({ minutes }) => minutes).join(',')}]`,
    reminder_method: METHODS[first.action] ?? 'popup',
  };
}

/** Properties in which other programs store the URL of a conference. */
const CONFERENCE_PROPERTIES = [
  ['x-google-conference', 'Google Meet'],
  ['x-microsoft-skypeteamsmeetingurl', 'Microsoft Teams'],
] as const;

function isConferencing(value: unknown): value is IcalConferencing {
  if (typeof value !== 'object' || value === null) return false;
  const { provider, details } = value as { provider?: unknown; details?: unknown };
  return typeof provider === 'string' && typeof details === 'object' && details !== null;
}

function ownConferencing(event: ICAL.Component): IcalConferencing | null {
  try {
    const value: unknown = JSON.parse(text(event, CONFERENCING_PROPERTY));
    return isConferencing(value) ? value : null;
  } catch {
    return null; // another program has edited it
  }
}

function readConferencing(event: ICAL.Component): IcalConferencing | null {
  const property = event.getFirstProperty('conference');
  const url = property ? String(property.getFirstValue()) : '';
  const own = event.hasProperty(CONFERENCING_PROPERTY) ? ownConferencing(event) : null;
  // Use our own details only if the URL is the same: another program may have set another
  // conference.
  if (own && uriValue(own.details.url ?? '') === uriValue(url)) return own;
  if (url)
    return { provider: property?.getFirstParameter('label') || 'Conference', details: { url } };
  for (const [name, provider] of CONFERENCE_PROPERTIES) {
    const other = event.getFirstPropertyValue(name);
    if (typeof other === 'string' && other) return { provider, details: { url: other } };
  }
  return null;
}

const STATUSES: Record<string, IcalStatus> = { TENTATIVE: 'tentative', CANCELLED: 'cancelled' };
const CLASSES: Record<string, IcalFields['visibility']> = {
  PUBLIC: 'public',
  PRIVATE: 'private',
  CONFIDENTIAL: 'private',
};

/**
 * The fields of a VEVENT.
 * @param root the VCALENDAR that contains it, for time zones
 * @throws {UnreadableCalendarError}
 */
export function readFields(event: ICAL.Component, root: ICAL.Component): IcalFields {
  const when = readWhen(event, root);
  return {
    title: text(event, 'summary'),
    description: text(event, 'description'),
    location: text(event, 'location'),
    when,
    busy: text(event, 'transp').toUpperCase() !== 'TRANSPARENT',
    status: STATUSES[text(event, 'status').toUpperCase()] ?? 'confirmed',
    visibility: CLASSES[text(event, 'class').toUpperCase()] ?? null,
    participants: readParticipants(event),
    recurrence: readRecurrence(event, root, when),
    conferencing: readConferencing(event),
    reminders: readReminders(event),
  };
}

/** The organizer; `null` if the event names none. */
export function readOrganizer(
  event: ICAL.Component,
): { email: string; name: string | null } | null {
  const property = event.getFirstProperty('organizer');
  const email = property && emailOf(property.getFirstValue(), property.getFirstParameter('email'));
  return email ? { email, name: property.getFirstParameter('cn') || null } : null;
}
