import { isDeepStrictEqual } from 'node:util';
import ICAL from 'ical.js';
import {
  CONFERENCING_PROPERTY, emailOf, type IcalFields, type IcalParticipant, PARTSTAT, UnwritableEventError, uriValue,
} from './ical-fields.ts'; // prettier-ignore
import { popupMinutes, readFields, readSequence } from './ical-read.ts';
import { isTimeZone } from '../../platform/base/time/time-zone.ts';
import { ianaZone, isUtc, localStamp, vtimezone, wallMs } from './ical-zone.ts';

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
  // Also removes the property's parameters, such as ALTREP: these belong to the old text.
  if (component.getFirstPropertyValue(name) === value) return;
  component.removeAllProperties(name);
  if (value !== '') component.addPropertyWithValue(name, value);
}

function writeTimes(
  event: ICAL.Component,
  root: ICAL.Component,
  fields: Partial<IcalFields>,
): void {
  if (fields.when) writeWhen(event, root, fields.when, fields.recurrence?.timezone);
  if (fields.recurrence === undefined) return;
  event.removeAllProperties('rrule');
  event.removeAllProperties('exdate');
  for (const line of fields.recurrence?.rrule ?? [])
    event.addProperty(ruleProperty(line, event, root));
}

function writeWhen(
  event: ICAL.Component,
  root: ICAL.Component,
  when: IcalFields['when'],
  seriesZone: string | undefined,
): void {
  for (const name of ['dtstart', 'dtend', 'duration']) event.removeAllProperties(name);
  const setDate = (name: string, ms: number) => {
    const value = ICAL.Time.fromDateString(new Date(ms).toISOString().slice(0, 10));
    event.addPropertyWithValue(name, value);
  };
  const setTime = (name: string, at: number, zone: string | undefined) => {
    const zoned = zone ?? seriesZone ?? 'UTC';
    const property = event.addPropertyWithValue(name, localStamp(at, zoned));
    if (isUtc(zoned)) return;
    property.setParameter('tzid', zoned);
    addZone(root, zoned, at);
  };
  switch (when.object) {
    case 'time':
      return setTime('dtstart', when.time, when.timezone);
    case 'timespan':
      setTime('dtstart', when.start_time, when.start_timezone);
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

function addZone(root: ICAL.Component, zone: string, at: number): void {
  const there = root
    .getAllSubcomponents('vtimezone')
    .some((one) => String(one.getFirstPropertyValue('tzid')) === zone);
  if (!there) root.addSubcomponent(vtimezone(zone, at));
}

/**
 * A line of `recurrence` as a property. An EXDATE without a zone, or in the zone of the series,
 * gets the name that the file uses for that zone.
 */
function ruleProperty(line: string, event: ICAL.Component, root: ICAL.Component): ICAL.Property {
  try {
    const property = ICAL.Property.fromString(line.trim().replace(/;$/, ''));
    const value = property.getFirstValue();
    const start = event.getFirstProperty('dtstart');
    const tzid = start?.getFirstParameter('tzid');
    if (property.name === 'exdate' && value instanceof ICAL.Time && !value.isDate) {
      const named = property.getFirstParameter('tzid');
      const floating = !named && value.zone !== ICAL.Timezone.utcTimezone;
      if (tzid && (floating || (named && named === ianaZone(tzid, root))))
        property.setParameter('tzid', tzid);
      else if (named && isTimeZone(named)) addZone(root, named, wallMs(value) / 1000);
    }
    return property;
  } catch (cause) {
    throw new UnwritableEventError(
      `recurrence: "${line.slice(0, 100)}" is not a rule that can be written`,
      { cause },
    );
  }
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

/** Result of a three-way merge. */
export interface Merge {
  /** The fields to write; all others stay as they are at the provider. */
  write: Partial<IcalFields>;
  /** Names of fields that both sides changed to different values. */
  conflicts: string[];
}

/**
 * Merges our change with the current state at the provider.
 * @param base the state that our change was based on; `null` if unknown, then our values win
 */
export function mergeFields(base: IcalFields | null, ours: IcalFields, theirs: IcalFields): Merge {
  const write: Partial<Record<keyof IcalFields, unknown>> = {};
  const conflicts: string[] = [];
  for (const name of Object.keys(ours) as (keyof IcalFields)[]) {
    if (base && isDeepStrictEqual(ours[name], base[name])) continue;
    if (name === 'participants') {
      const merged = mergeParticipants(base?.participants ?? theirs.participants, ours, theirs);
      if (!isDeepStrictEqual(merged, theirs.participants)) write.participants = merged;
    } else if (isDeepStrictEqual(ours[name], theirs[name])) {
      continue;
    } else if (name === 'recurrence' && base?.recurrence && ours.recurrence && theirs.recurrence) {
      const merged = mergeRecurrence(base.recurrence, ours.recurrence, theirs.recurrence);
      if (!merged) conflicts.push(name);
      else if (!isDeepStrictEqual(merged, theirs.recurrence)) write.recurrence = merged;
    } else if (base && !isDeepStrictEqual(theirs[name], base[name])) {
      conflicts.push(name);
    } else {
      write[name] = ours[name];
    }
  }
  // The zone of a series decides how its times are written, so write both together.
  if (write.when && write.recurrence === undefined)
    write.recurrence = theirs.recurrence ?? undefined;
  if (write.recurrence === undefined) delete write.recurrence;
  return { write: write as Partial<IcalFields>, conflicts };
}

type Recurrence = NonNullable<IcalFields['recurrence']>;

/** Splits a recurrence into its rules and its exclusions, with one EXDATE line for each date. */
function splitRecurrence({ rrule, timezone }: Recurrence): { rules: unknown; left: string[] } {
  const isExclusion = (line: string) => /^EXDATE[;:]/i.test(line);
  const left = rrule.filter(isExclusion).flatMap((line) => {
    const colon = line.indexOf(':') + 1;
    return line
      .slice(colon)
      .split(',')
      .map((value) => `${line.slice(0, colon)}${value}`);
  });
  return { rules: [timezone, ...rrule.filter((line) => !isExclusion(line))], left };
}

/**
 * Merges exclusions that either side added or removed; `undefined` if both sides changed the rules
 * differently.
 */
function mergeRecurrence(
  base: Recurrence,
  ours: Recurrence,
  theirs: Recurrence,
): Recurrence | undefined {
  const [was, our, their] = [splitRecurrence(base), splitRecurrence(ours), splitRecurrence(theirs)];
  const oursChanged = !isDeepStrictEqual(our.rules, was.rules);
  const theirsChanged = !isDeepStrictEqual(their.rules, was.rules);
  if (oursChanged && theirsChanged && !isDeepStrictEqual(our.rules, their.rules)) return undefined;
  const kept = their.left.filter((line) => our.left.includes(line) || !was.left.includes(line));
  const added = our.left.filter((line) => !was.left.includes(line) && !their.left.includes(line));
  if (!oursChanged && added.length === 0 && kept.length === their.left.length) return theirs;
  const { rrule, timezone } = oursChanged ? ours : theirs;
  return {
    rrule: [...rrule.filter((line) => !/^EXDATE[;:]/i.test(line)), ...kept, ...added],
    timezone,
  };
}

/** Merges participants that either side added, removed or changed, by address. */
function mergeParticipants(
  base: readonly IcalParticipant[],
  { participants: ours }: IcalFields,
  { participants: theirs }: IcalFields,
): IcalParticipant[] {
  const find = (list: readonly IcalParticipant[], email: string) =>
    list.find((one) => one.email === email);
  const kept = theirs.flatMap((their) => {
    const [was, our] = [find(base, their.email), find(ours, their.email)];
    // Missing on our side: we removed the participant, or the other side added one.
    if (!our) return was ? [] : [their];
    return [
      {
        ...their,
        name: was && our.name === was.name ? their.name : our.name,
        status: was && our.status === was.status ? their.status : our.status,
      },
    ];
  });
  // Added by us. A participant whom the other side removed stays removed.
  const added = ours.filter(({ email }) => !find(theirs, email) && !find(base, email));
  return [...kept, ...added];
}
