import ICAL from 'ical.js';
import {
  CONFERENCING_PROPERTY,
  type IcalFields,
  PARTSTAT,
} from '../../../formats/ical/ical-fields.ts';
import { newCalendar, writeFields } from '../../../formats/ical/ical-write.ts';
import { isUtc, localStamp } from '../../../formats/ical/ical-zone.ts';
import type { SHOWN_FIELDS } from '../event-columns.ts';
import type { EventRecord } from '../event-record.ts';
import type { Participant, Recurrence, When } from '../event-values.ts';

export type ShownEvent = Pick<EventRecord, (typeof SHOWN_FIELDS)[number]>;

export interface InstanceOf {
  /** When it would have begun by the rules; of all-day series midnight of the day, as if in UTC. */
  originalStart: Date;
  /** The form of the series' times, and its zone: they decide how the start is written. Null: not known. */
  series: { when: When; recurrence: Recurrence | null } | null;
}

export interface IcsEvent {
  event: ShownEvent;
  uid: string;
  /** Grows with each revision (RFC 5546 2.1.4). */
  sequence: number;
  stamp: Date;
  /** Who invites; null: nobody is named. */
  organizer: { email: string; name: string | null } | null;
  /** Who takes part; nobody is named where it is empty. */
  attendees: readonly Participant[];
  /** Whether those are asked for an answer. Default false. */
  rsvp?: boolean;
  /** What who answers says to the organizer. Default: nothing. */
  comment?: string | null;
  /** Null: a series, or an event that stands alone. */
  instance: InstanceOf | null;
  /** Starts of instances that are left out of a series, besides its own exceptions. Default: none. */
  leftOut?: readonly Date[];
}

/** What a file says of itself. */
export interface IcsOptions {
  /** METHOD, upper case; null: none. */
  method: string | null;
  /** PRODID; default: ours. */
  prodid?: string | undefined;
  /** Further properties of the calendar, as text. */
  properties?: Readonly<Record<string, string>>;
}

const END = 'END:VCALENDAR\r\n';

/**
 * Writes events as iCalendar (RFC 5545), one after the other, so that long files need not be in memory. Time zones come
 * right before the first event that needs them. Alarms are left out: they are the owner's.
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
   * An event, with time zones that no event before has needed. Give them by their start: the zones' changes are written
   * from the first one on.
   * @throws {UnwritableEventError} when its rule is no rule
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
    // Of no use to others; the description has the same in words.
    event.removeAllProperties(CONFERENCING_PROPERTY);
    if (instance) event.addProperty(recurrenceId(instance, source.event));
    if (organizer) {
      const property = event.addPropertyWithValue('organizer', `mailto:${organizer.email}`);
      if (organizer.name) property.setParameter('cn', parameter(organizer.name));
    }
    for (const attendee of attendees) event.addProperty(attendeeProperty(attendee, rsvp));
    if (comment) event.addPropertyWithValue('comment', plain(comment));
    return event;
  }
}

/** A whole file of a few events. @throws {UnwritableEventError} */
export function icsOf(options: IcsOptions, events: readonly IcsEvent[]): string {
  const writer = new IcsWriter(options);
  return [writer.begin(), ...events.map((event) => writer.add(event)), writer.end()].join('');
}

/** Line breaks as files have them, and no other control characters: a reader may take them for the end of a line. */
export const plain = (text: string): string =>
  text.replaceAll(/\r\n?/g, '\n').replaceAll(/[^\P{Cc}\n\t]/gu, '');

/** TEXT (RFC 5545 3.3.11), for properties that the library does not know: it writes those as they are. */
const escapedText = (text: string): string =>
  plain(text)
    .replaceAll(/[\\;,]/g, '\\$&')
    .replaceAll('\n', '\\n');

/** Parameters take no quotes and no line breaks (RFC 5545 3.2). */
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
    // The rules of a series are about the clocks of its own zone.
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

/** How to join a conference, in words: few programs read more than its address. */
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

/** The description, followed by how to join, unless somebody has written the address into it. */
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

/** A line that leaves out one start, in the form of the series' own. */
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
