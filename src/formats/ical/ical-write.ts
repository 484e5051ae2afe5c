import ICAL from 'ical.js';
import { instantOfWallTime, offsetMs } from '../../platform/base/time/time-zone.ts';
import type { Recurrence } from '../recurrence/series-source.ts';
import {
  CONFERENCING_PROPERTY,
  emailOf,
  type IcalFields,
  type IcalParticipant,
  PARTSTAT,
  uriValue,
} from './ical-fields.ts';
import { popupMinutes, readFields, readWhen } from './ical-read.ts';
import { readSequence } from './ical-sequence.ts';
import { addZone, localStamp, stampIn } from './zones/ical-zone.ts';
import { dropKept } from './kept-lines.ts';
import { recurrenceProperties } from './write-recurrence.ts';
import { isUtc } from './zones/zone-names.ts';

const PRODUCT = '-//Carillon//Carillon//EN';
const DAY_MS = 86_400_000;

/** The account that writes, and the current time. */
export interface Writer {
  email: string;
  name: string;
  now: Date;
}

/** An empty VCALENDAR. */
export function newCalendar(): ICAL.Component {
  return new ICAL.Component([
    'vcalendar',
    [
      ['version', {}, 'text', '2.0'],
      ['prodid', {}, 'text', PRODUCT],
    ],
    [],
  ]);
}

/**
 * A file with one event.
 * @param sequence its SEQUENCE
 */
export function newEvent(
  uid: string,
  fields: IcalFields,
  writer: Writer,
  sequence = 0,
): ICAL.Component {
  const root = newCalendar();
  const event = new ICAL.Component('vevent');
  root.addSubcomponent(event);
  event.addPropertyWithValue('uid', uid);
  event.addPropertyWithValue('created', localStamp(seconds(writer.now), 'UTC'));
  event.addPropertyWithValue('sequence', sequence);
  writeFields(event, root, fields, writer);
  stampEvent(event, writer.now, false);
  return root;
}

/**
 * The fields as they would be read back from a file. Makes fields comparable with those of a file.
 */
export function throughIcal(fields: IcalFields, writer: Writer): IcalFields {
  const root = newEvent('x', fields, writer);
  const event = root.getFirstSubcomponent('vevent');
  if (!event) throw new Error('unreachable');
  return readFields(event, root);
}

const seconds = (date: Date) => Math.floor(date.getTime() / 1000);

/** Fields whose change makes a new revision for participants (RFC 5546 2.1.4). */
const REVISING = ['when', 'recurrence', 'status'] as const;

/**
 * Writes the given fields into a VEVENT. Other fields, and properties that we do not understand,
 * stay. Adds missing time zones to the VCALENDAR.
 * @throws {UnwritableEventError} if a recurrence rule is invalid
 */
export function writeFields(
  event: ICAL.Component,
  root: ICAL.Component,
  fields: Partial<IcalFields>,
  writer: Writer,
): void {
  const { title, description, location, busy, status, visibility } = fields;
  setText(event, 'summary', title);
  setText(event, 'description', description);
  setText(event, 'location', location);
  if (busy !== undefined) event.updatePropertyWithValue('transp', busy ? 'OPAQUE' : 'TRANSPARENT');
  if (status !== undefined) event.updatePropertyWithValue('status', status.toUpperCase());
  if (visibility !== undefined) setText(event, 'class', visibility?.toUpperCase() ?? '');
  writeTimes(event, root, fields);
  if (fields.participants) writeParticipants(event, fields.participants, writer);
  if (fields.conferencing !== undefined) writeConferencing(event, fields.conferencing);
  if (fields.reminders !== undefined) writeReminders(event, fields.reminders);
}

/**
 * Updates DTSTAMP and LAST-MODIFIED, and SEQUENCE if required.
 * @param revises true to raise SEQUENCE by one, for changes that concern participants
 * @param least smallest SEQUENCE afterwards, as sent to participants
 */
export function stampEvent(event: ICAL.Component, now: Date, revises: boolean, least = 0): void {
  const stamp = localStamp(seconds(now), 'UTC');
  event.updatePropertyWithValue('dtstamp', stamp);
  event.updatePropertyWithValue('last-modified', stamp);
  const before = readSequence(event);
  const after = Math.max(revises ? before + 1 : before, least);
  if (after !== before) event.updatePropertyWithValue('sequence', after);
}

/** True if a change of these fields makes a new revision. */
export function isRevision(fields: Partial<IcalFields>): boolean {
  return REVISING.some((name) => fields[name] !== undefined);
}

function setText(component: ICAL.Component, name: string, value: string | undefined): void {
  if (value === undefined) return;
  if ((component.getFirstPropertyValue(name) ?? '') === value) return;
  dropKept(component, [name]);
  // Also removes the property's parameters, such as ALTREP: these belong to the old text.
  component.removeAllProperties(name);
  if (value !== '') component.addPropertyWithValue(name, value);
}

function writeTimes(
  event: ICAL.Component,
  root: ICAL.Component,
  fields: Partial<IcalFields>,
): void {
  const { when, recurrence } = fields;
  if (when) writeWhen(event, root, when, recurrence);
  if (recurrence === undefined) return;
  const rulesOf = () =>
    event
      .getAllProperties('rrule')
      .map((rule) => rule.toICALString())
      .join();
  const before = rulesOf();
  event.removeAllProperties('rrule');
  event.removeAllProperties('exdate');
  const series = recurrence && { when: when ?? readWhen(event, root), recurrence };
  for (const property of series ? recurrenceProperties(series, event, root) : [])
    event.addProperty(property);
  // Unreadable rules are replaced only by other rules, not by a new time or a new exclusion.
  if (rulesOf() !== before) dropKept(event, ['rrule']);
}

function writeWhen(
  event: ICAL.Component,
  root: ICAL.Component,
  when: IcalFields['when'],
  series: IcalFields['recurrence'] | undefined,
): void {
  const names = ['dtstart', 'dtend', 'duration'];
  for (const name of names) event.removeAllProperties(name);
  dropKept(event, names);
  const setDate = (name: string, ms: number) => {
    const value = ICAL.Time.fromDateString(new Date(ms).toISOString().slice(0, 10));
    event.addPropertyWithValue(name, value);
  };
  const setTime = (name: string, at: number, zone: string | undefined) => {
    const zoned = zone ?? series?.timezone ?? 'UTC';
    if (isUtc(zoned)) return void event.addPropertyWithValue(name, localStamp(at, 'UTC'));
    addZone(root, zoned, at);
    // The file may describe a zone of this name in its own way.
    event.addPropertyWithValue(name, stampIn(zoned, at, root)).setParameter('tzid', zoned);
  };
  switch (when.object) {
    case 'time':
      return setTime('dtstart', when.time, when.timezone);
    case 'timespan':
      setTime('dtstart', when.start_time, when.start_timezone);
      if (series?.nominalDays) return writeDuration(event, when, series, series.nominalDays);
      return setTime('dtend', when.end_time, when.end_timezone ?? when.start_timezone);
    case 'date':
    case 'datespan': {
      const [first, last] =
        when.object === 'date' ? [when.date, when.date] : [when.start_date, when.end_date];
      setDate('dtstart', Date.parse(first));
      // DTEND is exclusive: the day after the last day.
      return setDate('dtend', Date.parse(last) + DAY_MS);
    }
  }
}

/** Writes the length of each instance in days, and the rest in exact time (RFC 5545 3.3.6). */
function writeDuration(
  event: ICAL.Component,
  when: IcalFields['when'] & { object: 'timespan' },
  { timezone }: Recurrence,
  days: number,
): void {
  const startMs = when.start_time * 1000;
  const wall = startMs + (isUtc(timezone) ? 0 : offsetMs(timezone, startMs)) + days * DAY_MS;
  const rest = when.end_time - instantOfWallTime(wall, timezone).getTime() / 1000;
  const time =
    rest > 0
      ? { hours: Math.floor(rest / 3600), minutes: Math.floor(rest / 60) % 60, seconds: rest % 60 }
      : {};
  event.addPropertyWithValue('duration', ICAL.Duration.fromData({ days, ...time }));
}

function writeParticipants(
  event: ICAL.Component,
  participants: readonly IcalParticipant[],
  writer: Writer,
): void {
  const wanted = new Map(participants.map((one) => [one.email, one]));
  for (const property of event.getAllProperties('attendee')) {
    const email = emailOf(property.getFirstValue(), property.getFirstParameter('email'));
    // Attendees without an email address (for example rooms) are not in our list; keep them.
    if (!email) continue;
    const participant = wanted.get(email);
    if (!participant) event.removeProperty(property);
    else updateAttendee(property, participant);
    wanted.delete(email);
  }
  for (const participant of wanted.values()) {
    const property = event.addPropertyWithValue('attendee', `mailto:${participant.email}`);
    // Tells the calendar server not to send invitations by itself (RFC 6638 7.1): we send them.
    property.setParameter('schedule-agent', 'CLIENT');
    property.setParameter('role', 'REQ-PARTICIPANT');
    property.setParameter('partstat', PARTSTAT[participant.status]);
    if (participant.name) property.setParameter('cn', safeParameter(participant.name));
  }
  if (participants.length === 0 || event.hasProperty('organizer')) return;
  const organizer = event.addPropertyWithValue('organizer', `mailto:${writer.email}`);
  if (writer.name) organizer.setParameter('cn', safeParameter(writer.name));
}

function updateAttendee(property: ICAL.Property, { name, status }: IcalParticipant): void {
  if ((property.getFirstParameter('cn') ?? '') !== name) {
    if (name) property.setParameter('cn', safeParameter(name));
    else property.removeParameter('cn');
  }
  const before = (property.getFirstParameter('partstat') ?? 'NEEDS-ACTION').toUpperCase();
  // DELEGATED and similar values are read as `noreply`. Keep them unless the participant gets
  // another status.
  const known = Object.values(PARTSTAT).some((partstat) => partstat === before);
  if (before !== PARTSTAT[status] && (known || status !== 'noreply'))
    property.setParameter('partstat', PARTSTAT[status]);
}

/**
 * Removes quotes and line breaks, which parameters cannot contain (RFC 5545 3.2). Not every program
 * supports the escapes of RFC 6868.
 */
const safeParameter = (value: string) => value.replaceAll('"', "'").replaceAll(/[\r\n\0]+/g, ' ');

function writeConferencing(event: ICAL.Component, conferencing: IcalFields['conferencing']): void {
  for (const name of [
    'conference',
    CONFERENCING_PROPERTY,
    'x-google-conference',
    'x-microsoft-skypeteamsmeetingurl',
  ])
    event.removeAllProperties(name);
  if (!conferencing) return;
  const { url } = conferencing.details;
  if (url) {
    const property = new ICAL.Property('conference');
    property.resetType('uri');
    property.setValue(uriValue(url));
    property.setParameter('feature', 'VIDEO');
    property.setParameter('label', safeParameter(conferencing.provider));
    event.addProperty(property);
  }
  const own = new ICAL.Property(CONFERENCING_PROPERTY);
  own.resetType('text');
  own.setValue(JSON.stringify(conferencing));
  event.addProperty(own);
}

const ACTIONS: Record<string, string> = { email: 'EMAIL', sound: 'AUDIO' };

function writeReminders(event: ICAL.Component, reminders: IcalFields['reminders']): void {
  for (const alarm of event.getAllSubcomponents('valarm')) {
    if (popupMinutes(alarm) !== undefined) event.removeSubcomponent(alarm);
  }
  const minutes = [...(reminders?.reminder_minutes ?? '').matchAll(/-?\d+/g)].map(Number);
  const action = ACTIONS[reminders?.reminder_method ?? ''] ?? 'DISPLAY';
  // A negative number stands for the calendar's default, which is not an alarm of the event.
  for (const before of new Set(minutes.filter((one) => one >= 0))) {
    const alarm = new ICAL.Component('valarm');
    alarm.addPropertyWithValue('action', action);
    alarm.addPropertyWithValue('trigger', ICAL.Duration.fromSeconds(-before * 60));
    const title = String(event.getFirstPropertyValue('summary') ?? '') || 'Reminder';
    if (action !== 'AUDIO') alarm.addPropertyWithValue('description', title);
    if (action === 'EMAIL') alarm.addPropertyWithValue('summary', title);
    event.addSubcomponent(alarm);
  }
}
