import type ICAL from 'ical.js';
import { emailOf, type IcalFields, type IcalParticipant } from './ical-fields.ts';
import { standsForFollowing } from './ical-instance.ts';
import { parseCalendar, UnreadableCalendarError } from './ical-parse.ts';
import { readFields, readOrganizer, readParticipants } from './ical-read.ts';
import { instantOf } from './zones/ical-zone.ts';
import { type InstanceId, readInstanceId, seriesIn } from './instance-id.ts';
import { warningsOf } from './kept-lines.ts';
import type { Revision } from './revisions.ts';

/** The supported methods of calendar files in mail (RFC 5546 3.2). */
export const ITIP_METHODS = ['request', 'cancel', 'reply', 'add'] as const;
export type ItipMethod = (typeof ITIP_METHODS)[number];

/** A participant, and who acts in the participant's place. Addresses are in lower case. */
export interface ItipAttendee extends IcalParticipant {
  /** SENT-BY (RFC 5545 3.2.18): the person who answers for the participant; `null` if absent. */
  sentBy: string | null;
  /** DELEGATED-TO (3.2.5): who takes part instead; only if PARTSTAT is DELEGATED. */
  delegates: string[];
  /** DELEGATED-FROM (3.2.4): in whose place the participant takes part. */
  delegators: string[];
}

/** One VEVENT of an iTIP message. */
export interface ItipEvent extends Revision {
  /** `null` for a series or a single event. */
  instance: InstanceId | null;
  organizer: { email: string; name: string | null } | null;
  attendees: ItipAttendee[];
  /** The comment to the organizer; `null` if there is none. */
  comment: string | null;
  /**
   * The fields of the event; `null` if the VEVENT has no time, as in some cancellations and
   * replies.
   */
  fields: IcalFields | null;
  /** Whether the event stands for all later instances, too (RFC 5545 3.2.13). */
  andFollowing: boolean;
  /** What could not be read of the event, in plain words. */
  warnings: string[];
}

/** An iTIP message. All its events have the same UID. */
export interface ItipMessage {
  method: ItipMethod;
  uid: string;
  /** Never empty; the series comes first. */
  events: ItipEvent[];
}

/** Longest calendar file in UTF-16 units; a longer file is an ordinary attachment. */
export const MOST_CALENDAR_TEXT = 512 * 1024;
/** Most calendar files of one mail that are read. */
const MOST_FILES = 3;
/** Most VEVENTs of one file that are read. */
const MOST_EVENTS = 100;
const LONGEST_UID = 500;
const LONGEST_EMAIL = 254;
const LONGEST_COMMENT = 2048;
/** Most delegates, or delegators, of one participant that are read. */
const MOST_DELEGATES = 5;

/** True if a part of a mail may be an iTIP message. */
export function isCalendarPart(contentType: string, filename: string): boolean {
  const type = contentType.toLowerCase();
  return type === 'text/calendar' || type === 'application/ics' || /\.ics$/i.test(filename);
}

/**
 * The iTIP messages in calendar files of a mail, without duplicates: many programs send the same
 * message inline and as an attachment. Files are skipped if they cannot be read, are too long, or
 * are not iTIP messages (no METHOD, or only published). Never throws; the work is limited.
 * @param skipped receives a reason for each file, event or line that was left out
 */
export function readItip(texts: readonly string[], skipped: string[] = []): ItipMessage[] {
  const found = new Map<string, ItipMessage>();
  for (const text of texts.slice(0, MOST_FILES)) {
    const message = text.length <= MOST_CALENDAR_TEXT ? readOne(text, skipped) : null;
    if (message) found.set(`${message.method} ${message.uid}`, message);
  }
  return [...found.values()];
}

function readOne(text: string, skipped: string[]): ItipMessage | null {
  try {
    const root = parseCalendar(text.replaceAll('\0', ''));
    const name = String(root.getFirstPropertyValue('method') ?? '').toLowerCase();
    const method = ITIP_METHODS.find((one) => one === name);
    const components = root.getAllSubcomponents('vevent').slice(0, MOST_EVENTS);
    const uid = uidOf(components[0]);
    if (!method || !uid) return null;
    const series = seriesIn(root);
    const events = components
      .filter((component) => uidOf(component) === uid)
      .flatMap((component) => readEvent(component, root, series) ?? [])
      .toSorted((a, b) => Number(a.instance !== null) - Number(b.instance !== null));
    skipped.push(...new Set(events.flatMap(({ warnings }) => warnings)));
    if (events.length < components.filter((component) => uidOf(component) === uid).length)
      skipped.push('an event of a calendar file was left out: its RECURRENCE-ID cannot be read');
    return events.length > 0 ? { method, uid, events } : null;
  } catch (error) {
    // Mail is untrusted input, and the library throws errors of any kind.
    const reason = error instanceof Error ? error.message.slice(0, 200) : 'not iCalendar';
    skipped.push(`a calendar file was left out: ${reason}`);
    return null;
  }
}

function uidOf(component: ICAL.Component | undefined): string | null {
  const uid = component?.getFirstPropertyValue('uid');
  return typeof uid === 'string' && uid !== '' && uid.length <= LONGEST_UID
    ? uid.toWellFormed()
    : null;
}

/** @returns `null` if the VEVENT's instance cannot be determined */
function readEvent(
  component: ICAL.Component,
  root: ICAL.Component,
  series: ICAL.Component | undefined,
): ItipEvent | null {
  const instance = readInstanceId(component, root, series);
  if (instance === undefined) return null;
  const organizer = readOrganizer(component);
  const comment = component.getFirstPropertyValue('comment');
  const fields = attempt(() => readFields(component, root));
  return {
    instance,
    organizer: organizer && organizer.email.length <= LONGEST_EMAIL ? organizer : null,
    attendees: readAttendees(component),
    comment: typeof comment === 'string' ? comment.slice(0, LONGEST_COMMENT) || null : null,
    fields,
    andFollowing: standsForFollowing(component),
    warnings: warningsOf(component, root),
    ...revisionOf(component, root),
  };
}

function readAttendees(component: ICAL.Component): ItipAttendee[] {
  const named = Map.groupBy(component.getAllProperties('attendee'), (property) =>
    emailOf(property.getFirstValue(), property.getFirstParameter('email')),
  );
  return readParticipants(component)
    .filter(({ email }) => email.length <= LONGEST_EMAIL)
    .map((participant) => {
      const property = named.get(participant.email)?.[0];
      const isDelegated = /^delegated$/i.test(property?.getFirstParameter('partstat') ?? '');
      return {
        ...participant,
        sentBy: addressesIn(property, 'sent-by')[0] ?? null,
        delegates: isDelegated ? addressesIn(property, 'delegated-to') : [],
        delegators: addressesIn(property, 'delegated-from'),
      };
    });
}

/** The addresses in a parameter of an ATTENDEE. */
function addressesIn(property: ICAL.Property | undefined, name: string): string[] {
  return [property?.getParameter(name) ?? []]
    .flat()
    .slice(0, MOST_DELEGATES)
    .flatMap((value) => emailOf(value, undefined) ?? [])
    .filter(({ length }) => length <= LONGEST_EMAIL);
}

function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof UnreadableCalendarError || error instanceof RangeError) return null;
    throw error;
  }
}

function revisionOf(component: ICAL.Component, root: ICAL.Component): Revision {
  const sequence = Number(component.getFirstPropertyValue('sequence') ?? 0);
  const property = component.getFirstProperty('dtstamp');
  const value = property?.getFirstValue();
  const isTime = typeof value === 'object' && value !== null && 'year' in value;
  const seconds = property && isTime ? instantOf(property, value as ICAL.Time, root).seconds : NaN;
  return {
    sequence: Number.isSafeInteger(sequence) ? Math.min(Math.max(sequence, 0), 2 ** 31 - 1) : 0,
    stamp: Number.isFinite(seconds) ? seconds : null,
  };
}
