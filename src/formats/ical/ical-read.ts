import ICAL from 'ical.js';
import {
  CONFERENCING_PROPERTY, emailOf, type IcalAnswer, type IcalConferencing, type IcalFields, type IcalParticipant,
  type IcalStatus, type IcalWhen, PARTSTAT, uriValue,
} from './ical-fields.ts'; // prettier-ignore
import { UnreadableCalendarError } from './ical-parse.ts';
import { ianaZone, instantOf, isUtc, localStamp, wallMs, type ZonedInstant } from './ical-zone.ts';

const DAY_SECONDS = 86_400;
/** A hundred years. */
const LONGEST_SECONDS = 36_525 * DAY_SECONDS;

/** Text of a property; empty if it is absent. */
function text(event: ICAL.Component, name: string): string {
  const value = event.getFirstPropertyValue(name);
  return typeof value === 'string' ? value : '';
}

const isTime = (value: unknown): value is ICAL.Time => value instanceof ICAL.Time;

function dateText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Accepts years with four digits only, because other programs may not understand others. */
function assertYear(seconds: number): void {
  const year = new Date(seconds * 1000).getUTCFullYear();
  if (!(year >= 1000 && year <= 9999)) throw new UnreadableCalendarError('a time out of range');
}

/** Length of a DURATION. Days are calendar days; the rest is exact time. */
function durationOf(event: ICAL.Component): { days: number; seconds: number } | undefined {
  const value = event.getFirstPropertyValue('duration');
  if (!(value instanceof ICAL.Duration)) return undefined;
  // The library steps through the days one at a time.
  if (Math.abs(value.toSeconds()) > LONGEST_SECONDS)
    throw new UnreadableCalendarError('a duration out of range');
  const sign = value.isNegative ? -1 : 1;
  return {
    days: sign * (value.weeks * 7 + value.days),
    seconds: sign * (value.hours * 3600 + value.minutes * 60 + value.seconds),
  };
}

function readWhen(event: ICAL.Component, root: ICAL.Component): IcalWhen {
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
    if (dateText(last) === dateText(first)) return { object: 'date', date: dateText(first) };
    return { object: 'datespan', start_date: dateText(first), end_date: dateText(last) };
  }
  const from = instantOf(property, start, root);
  assertYear(from.seconds);
  const to = endOf(
    { property, start, from },
    endProperty && isTime(end) ? { endProperty, end } : null,
    duration,
    root,
  );
  assertYear(to.seconds);
  if (to.seconds <= from.seconds) {
    return { object: 'time', time: from.seconds, ...(from.zone ? { timezone: from.zone } : {}) };
  }
  return {
    object: 'timespan',
    start_time: from.seconds,
    end_time: to.seconds,
    ...(from.zone ? { start_timezone: from.zone } : {}),
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

function readRecurrence(event: ICAL.Component, root: ICAL.Component): IcalFields['recurrence'] {
  const rules = event.getAllProperties('rrule');
  if (rules.length === 0 || hasTooManyRules(event)) return null;
  let dates = 0;
  const exclusions = event
    .getAllProperties('exdate')
    .slice(0, MOST_EXCLUSIONS)
    .filter((property) => (dates += property.getValues().length) <= MOST_EXCLUSIONS)
    .map((property) => exclusionLine(property, root));
  const lines = [...rules.map((property) => property.toICALString()), ...exclusions];
  const property = event.getFirstProperty('dtstart');
  const start = property?.getFirstValue();
  const tzid = property?.getFirstParameter('tzid');
  const named = tzid ? ianaZone(tzid, root) : undefined;
  const zone =
    named ?? (property && isTime(start) ? instantOf(property, start, root).zone : undefined);
  return { rrule: lines, timezone: zone && !isUtc(zone) ? zone : 'UTC' };
}

/** An EXDATE line with an IANA zone, because other zone names are only valid within the file. */
function exclusionLine(property: ICAL.Property, root: ICAL.Component): string {
  const tzid = property.getFirstParameter('tzid');
  const zone = tzid ? ianaZone(tzid, root) : undefined;
  const values = property.getValues().filter(isTime);
  if (!tzid || zone === tzid || values.some(({ isDate }) => isDate)) return property.toICALString();
  const line = ICAL.Property.fromString(property.toICALString());
  if (zone && !isUtc(zone)) {
    line.setParameter('tzid', zone);
  } else {
    line.removeParameter('tzid');
    line.setValues(
      values.map((value) => localStamp(instantOf(property, value, root).seconds, 'UTC')),
    );
  }
  return line.toICALString();
}

const ANSWERS = new Map(
  Object.entries(PARTSTAT).map(([answer, partstat]) => [partstat as string, answer]),
);

/** The participants of an event, without duplicate addresses. */
export function readParticipants(event: ICAL.Component): IcalParticipant[] {
  const found = new Map<string, IcalParticipant>();
  for (const property of event.getAllProperties('attendee')) {
    const email = emailOf(property.getFirstValue(), property.getFirstParameter('email'));
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
  return {
    title: text(event, 'summary'),
    description: text(event, 'description'),
    location: text(event, 'location'),
    when: readWhen(event, root),
    busy: text(event, 'transp').toUpperCase() !== 'TRANSPARENT',
    status: STATUSES[text(event, 'status').toUpperCase()] ?? 'confirmed',
    visibility: CLASSES[text(event, 'class').toUpperCase()] ?? null,
    participants: readParticipants(event),
    recurrence: readRecurrence(event, root),
    conferencing: readConferencing(event),
    reminders: readReminders(event),
  };
}

/** Largest SEQUENCE that is read, so that it can still be raised without overflow. */
const MOST_SEQUENCE = 2 ** 30;

/**
 * SEQUENCE of an event (RFC 5545 3.8.7.4), limited to a range; 0 if it is absent or not a number.
 */
export function readSequence(event: ICAL.Component): number {
  const value = Number(event.getFirstPropertyValue('sequence') ?? 0);
  return Number.isSafeInteger(value) ? Math.min(Math.max(value, 0), MOST_SEQUENCE) : 0;
}

/** The organizer; `null` if the event names none. */
export function readOrganizer(
  event: ICAL.Component,
): { email: string; name: string | null } | null {
  const property = event.getFirstProperty('organizer');
  const email = property && emailOf(property.getFirstValue(), property.getFirstParameter('email'));
  return email ? { email, name: property.getFirstParameter('cn') || null } : null;
}

/** A changed instance of a series. */
export interface InstanceId {
  /** `20260301T090000Z`, or `20260301` for all-day events. */
  key: string;
  seconds: number;
}

/** The instance that a VEVENT describes; `null` if it is a series or a single event. */
export function instanceIdOf(event: ICAL.Component, root: ICAL.Component): InstanceId | null {
  const property = event.getFirstProperty('recurrence-id');
  const value = property?.getFirstValue();
  if (!property || !isTime(value)) return null;
  if (value.isDate) {
    const seconds = wallMs(value) / 1000;
    return { key: dateText(seconds * 1000).replaceAll('-', ''), seconds };
  }
  const { seconds } = instantOf(property, value, root);
  assertYear(seconds);
  const key = new Date(seconds * 1000).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return { key, seconds };
}

/** Most VEVENTs of an object that are read: the series and its changed instances. */
const MOST_EVENTS = 500;

/**
 * The VEVENTs of an object by instance; `null` is the key of the series. Of several revisions, the
 * latest is returned.
 */
export function eventsIn(root: ICAL.Component): Map<string | null, ICAL.Component> {
  const found = new Map<string | null, ICAL.Component>();
  for (const event of root.getAllSubcomponents('vevent').slice(0, MOST_EVENTS)) {
    const key = instanceIdOf(event, root)?.key ?? null;
    const other = found.get(key);
    if (!other || readSequence(event) >= readSequence(other)) found.set(key, event);
  }
  return found;
}
