import type ICAL from 'ical.js';
import type { IcalFields, IcalParticipant } from './ical-fields.ts';
import {
  CalendarLimitError, hasTooManyRules, type InstanceId, instanceIdOf, parseCalendar, readFields, readOrganizer,
  readParticipants, UnreadableCalendarError,
} from './ical-read.ts'; // prettier-ignore
import { instantOf } from './ical-zone.ts';
import type { Revision } from './revisions.ts';

/** What a calendar file in a mail asks for (RFC 5546 3.2), as far as it is followed. */
export const ITIP_METHODS = ['request', 'cancel', 'reply', 'add'] as const;
export type ItipMethod = (typeof ITIP_METHODS)[number];

/** One VEVENT of an iTIP message. */
export interface ItipEvent extends Revision {
  /** Null: the series, or an event that stands alone. */
  instance: InstanceId | null;
  organizer: { email: string; name: string | null } | null;
  participants: IcalParticipant[];
  /** What is said to the organizer; null: nothing. */
  comment: string | null;
  /** Null: it does not say when it is, as cancellations and replies need not. */
  fields: IcalFields | null;
}

/** An iTIP message: everything in it is of one UID. */
export interface ItipMessage {
  method: ItipMethod;
  uid: string;
  /** Never empty; the series first. */
  events: ItipEvent[];
}

/** UTF-16 units of a calendar file; a longer one is an ordinary attachment. */
export const MOST_CALENDAR_TEXT = 512 * 1024;
/** More calendar files of one mail are not looked at. */
const MOST_FILES = 3;
/** More VEVENTs of one file are passed. */
const MOST_EVENTS = 100;
const LONGEST_UID = 500;
const LONGEST_EMAIL = 254;
const LONGEST_COMMENT = 2048;

/** Whether a part of a mail may be an iTIP message. */
export function isCalendarPart(contentType: string, filename: string): boolean {
  const type = contentType.toLowerCase();
  return type === 'text/calendar' || type === 'application/ics' || /\.ics$/i.test(filename);
}

/**
 * The iTIP messages in calendar files of a mail, each once: many programs send the same one inline and attached. What cannot
 * be read, is too long, or is no iTIP message (a file without METHOD, one that is only published) is passed. Never throws, and
 * its work is bounded.
 * @param passed gets the reasons why files or rules were passed because of a limit
 */
export function readItip(texts: readonly string[], passed: string[] = []): ItipMessage[] {
  const found = new Map<string, ItipMessage>();
  for (const text of texts.slice(0, MOST_FILES)) {
    const message = text.length <= MOST_CALENDAR_TEXT ? readOne(text, passed) : null;
    if (message) found.set(`${message.method} ${message.uid}`, message);
  }
  return [...found.values()];
}

function readOne(text: string, passed: string[]): ItipMessage | null {
  try {
    const root = parseCalendar(text.replaceAll('\0', ''));
    const name = String(root.getFirstPropertyValue('method') ?? '').toLowerCase();
    const method = ITIP_METHODS.find((one) => one === name);
    const components = root.getAllSubcomponents('vevent').slice(0, MOST_EVENTS);
    const uid = uidOf(components[0]);
    if (!method || !uid) return null;
    if (components.some(hasTooManyRules))
      passed.push('a recurring event has too many rules: its first time is kept');
    const events = components
      .filter((component) => uidOf(component) === uid)
      .flatMap((component) => readEvent(component, root) ?? [])
      .toSorted((a, b) => Number(a.instance !== null) - Number(b.instance !== null));
    return events.length > 0 ? { method, uid, events } : null;
  } catch (error) {
    // Mail may hold anything; the library throws whatever it meets.
    if (error instanceof CalendarLimitError)
      passed.push(`a calendar file is passed: ${error.message}`);
    return null;
  }
}

function uidOf(component: ICAL.Component | undefined): string | null {
  const uid = component?.getFirstPropertyValue('uid');
  return typeof uid === 'string' && uid !== '' && uid.length <= LONGEST_UID
    ? uid.toWellFormed()
    : null;
}

/** @returns null: which instance it is about cannot be told */
function readEvent(component: ICAL.Component, root: ICAL.Component): ItipEvent | null {
  const instance = attempt(() => ({ id: instanceIdOf(component, root) }));
  if (!instance) return null;
  const organizer = readOrganizer(component);
  const comment = component.getFirstPropertyValue('comment');
  return {
    instance: instance.id,
    organizer: organizer && organizer.email.length <= LONGEST_EMAIL ? organizer : null,
    participants: readParticipants(component).filter(({ email }) => email.length <= LONGEST_EMAIL),
    comment: typeof comment === 'string' ? comment.slice(0, LONGEST_COMMENT) || null : null,
    fields: attempt(() => readFields(component, root)),
    ...revisionOf(component, root),
  };
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
