import ICAL from 'ical.js';
import {
  CONFERENCING_PROPERTY,
  type IcalFields,
  PARTSTAT,
} from '../../../formats/ical/ical-fields.ts';
import { newCalendar, writeFields } from '../../../formats/ical/ical-write.ts';
import { localStamp } from '../../../formats/ical/zones/ical-zone.ts';
import { isUtc } from '../../../formats/ical/zones/zone-names.ts';
import type { SHOWN_FIELDS } from '../event-columns.ts';
import type { EventRecord } from '../event-record.ts';
import { type Participant, type Recurrence, type When, withAddress } from '../event-values.ts';

export type ShownEvent = Pick<EventRecord, (typeof SHOWN_FIELDS)[number]>;

export interface InstanceOf {
  /**
   * When the instance would have begun by the rules. For all-day series: midnight of that day in
   * UTC.
   */
  originalStart: Date;
  /**
   * The times and the zone of the series, which decide how RECURRENCE-ID is written; `null` if not
   * known.
   */
  series: { when: When; recurrence: Recurrence | null } | null;
}

export interface IcsEvent {
  event: ShownEvent;
  uid: string;
  /** SEQUENCE; grows with each revision (RFC 5546 2.1.4). */
  sequence: number;
  stamp: Date;
  /** Who invites; `null` to name no organizer. */
  organizer: { email: string; name: string | null } | null;
  /** Who takes part; an empty list names no participants. */
  attendees: readonly Participant[];
  /** Whether attendees are asked for an answer. Default: false. */
  rsvp?: boolean;
  /** COMMENT of an attendee's answer to the organizer. Default: none. */
  comment?: string | null;
  /** Set for an instance of a series; `null` for a series and for a single event. */
  instance: InstanceOf | null;
  /**
   * Starts of instances that are left out of a series, in addition to its own EXDATEs. Default:
   * none.
   */
  leftOut?: readonly Date[];
}

/** Properties of the calendar file itself. */
export interface IcsOptions {
  /** METHOD in upper case; `null` for none. */
  method: string | null;
  /** PRODID; default: the one of this server. */
  prodid?: string | undefined;
  /** Further properties of the calendar, as unescaped text. */
  properties?: Readonly<Record<string, string>>;
}

const END = 'END:VCALENDAR\r\n';

/**
 * Writes events as iCalendar (RFC 5545) one at a time, so that a long file need not fit in memory.
 * A time zone is written right before the first event that needs it. Alarms are left out, because
 * they belong to the owner of the calendar.
 */
export class IcsWriter {
  readonly #root = newCalendar();
  readonly #begin: string;
  #zones = 0;

  constructor({ method, prodid, properties = {} }: IcsOptions) {
    if (prodid !== undefined) this.#root.updatePropertyWithValue('prodid', plain(prodid));
    this.#root.addPropertyWithValue('calscale', 'GREGORIAN');
    if (method !== null) this.#root.addPropertyWithValue('method', method);
    for (const [name, value] of Object.entries(properties))
      this.#root.addPropertyWithValue(name, escapedText(value));
    this.#begin = `${this.#root.toString()}\r\n`.slice(0, -END.length);
  }

  begin(): string {
    return this.#begin;
  }

  /**
   * Returns an event, preceded by the time zones that no earlier event needed. Add events in the
   * order of their starts: a zone lists its transitions only from its first event on.
   * @throws {UnwritableEventError} if the rule of the event is not valid
   */
  add(source: IcsEvent): string {
    const event = this.#eventOf(source);
    const zones = this.#root.getAllSubcomponents('vtimezone').slice(this.#zones);
    this.#zones += zones.length;
    return [...zones, event].map((component) => `${component.toString()}\r\n`).join('');
  }

  end(): string {
    return END;
  }

  #eventOf(source: IcsEvent): ICAL.Component {
    const { uid, sequence, stamp, organizer, attendees, rsvp = false, comment, instance } = source;
    const event = new ICAL.Component('vevent');
    event.addPropertyWithValue('uid', plain(uid));
    event.addPropertyWithValue('dtstamp', utc(stamp));
    event.addPropertyWithValue('sequence', sequence);
    writeFields(event, this.#root, fieldsFor(source), { email: '', name: '', now: stamp });
    // Other programs do not know this property, and the description has the same details as text.
    event.removeAllProperties(CONFERENCING_PROPERTY);
    if (instance) event.addProperty(recurrenceId(instance, source.event));
    if (organizer) {
      const property = event.addPropertyWithValue('organizer', `mailto:${organizer.email}`);
      if (organizer.name) property.setParameter('cn', parameter(organizer.name));
    }
    for (const attendee of withAddress(attendees))
      event.addProperty(attendeeProperty(attendee, rsvp));
    if (comment) event.addPropertyWithValue('comment', plain(comment));
    return event;
  }
}

/**
 * A complete file with a few events.
 * @throws {UnwritableEventError}
 */
export function icsOf(options: IcsOptions, events: readonly IcsEvent[]): string {
  const writer = new IcsWriter(options);
  return [writer.begin(), ...events.map((event) => writer.add(event)), writer.end()].join('');
}

/**
 * Turns every line break into \n and removes other control characters, which a reader may take for
 * the end of a line.
 */
export const plain = (text: string): string =>
  text.replaceAll(/\r\n?/g, '\n').replaceAll(/[^\P{Cc}\n\t]/gu, '');

/**
 * Escapes TEXT (RFC 5545 3.3.11) for properties that ical.js does not know. ical.js writes those
 * without escaping.
 */
const escapedText = (text: string): string =>
  plain(text)
    .replaceAll(/[\\;,]/g, '\\$&')
    .replaceAll('\n', '\\n');

/** Parameter values cannot contain quotes or line breaks (RFC 5545 3.2). */
const parameter = (text: string): string =>
  plain(text).replaceAll('"', "'").replaceAll(/\s+/g, ' ');

const utc = (at: Date): ICAL.Time => localStamp(Math.floor(at.getTime() / 1000), 'UTC');

const isAllDay = ({ object }: When): boolean => object === 'date' || object === 'datespan';

function fieldsFor({ event, leftOut = [] }: IcsEvent): IcalFields {
  const { recurrence, when } = event;
  return {
    title: plain(event.title),
    description: plain(withConference(event)),
    location: plain(event.location),
    // The rules of a series refer to wall time in the zone of the recurrence.
    when: recurrence ? withoutZones(when) : when,
    busy: event.busy,
    status: event.status,
    visibility:
      event.visibility === 'private' || event.visibility === 'public' ? event.visibility : null,
    participants: [],
    recurrence: recurrence && {
      timezone: recurrence.timezone,
      rrule: [...recurrence.rrule, ...leftOut.map((at) => exception(at, when, recurrence))],
    },
    conferencing: event.conferencing,
    reminders: null,
  };
}

/**
 * How to join a conference, as text lines. Few programs read more than the conference's address.
 */
export function conferenceLines({ conferencing }: Pick<ShownEvent, 'conferencing'>): string[] {
  if (!conferencing) return [];
  const { url, meeting_code, password, pin, phone = [] } = conferencing.details;
  return [
    `${conferencing.provider}${url ? `: ${url}` : ''}`,
    ...(meeting_code ? [`Meeting code: ${meeting_code}`] : []),
    ...(password ? [`Password: ${password}`] : []),
    ...(pin ? [`PIN: ${pin}`] : []),
    ...(phone.length > 0 ? [`By phone: ${phone.join(', ')}`] : []),
  ];
}

/** The description followed by how to join, unless the description already has the address. */
function withConference(event: ShownEvent): string {
  const lines = conferenceLines(event);
  const url = event.conferencing?.details.url;
  if (lines.length === 0 || (url && event.description.includes(url))) return event.description;
  return [...(event.description ? [event.description, ''] : []), ...lines].join('\n');
}

function withoutZones(when: When): When {
  switch (when.object) {
    case 'time':
      return { object: 'time', time: when.time };
    case 'timespan':
      return { object: 'timespan', start_time: when.start_time, end_time: when.end_time };
    default:
      return when;
  }
}

/** An EXDATE line for one start, in the same form (date or time) as the series. */
function exception(at: Date, when: When, { timezone }: Recurrence): string {
  if (isAllDay(when)) return `EXDATE;VALUE=DATE:${dayOf(at).toICALString()}`;
  return `EXDATE:${localStamp(Math.floor(at.getTime() / 1000), timezone).toICALString()}`;
}

const dayOf = (at: Date): ICAL.Time => ICAL.Time.fromDateString(at.toISOString().slice(0, 10));

function recurrenceId({ originalStart, series }: InstanceOf, own: ShownEvent): ICAL.Property {
  const property = new ICAL.Property('recurrence-id');
  if (isAllDay((series ?? own).when)) {
    property.resetType('date');
    property.setValue(dayOf(originalStart));
    return property;
  }
  const zone = series?.recurrence?.timezone ?? 'UTC';
  property.setValue(localStamp(Math.floor(originalStart.getTime() / 1000), zone));
  if (!isUtc(zone)) property.setParameter('tzid', zone);
  return property;
}

function attendeeProperty({ email, name, status }: Participant, rsvp: boolean): ICAL.Property {
  const property = new ICAL.Property('attendee');
  property.setValue(`mailto:${email}`);
  property.setParameter('cutype', 'INDIVIDUAL');
  property.setParameter('role', 'REQ-PARTICIPANT');
  property.setParameter('partstat', PARTSTAT[status]);
  if (rsvp) property.setParameter('rsvp', 'TRUE');
  if (name) property.setParameter('cn', parameter(name));
  return property;
}
