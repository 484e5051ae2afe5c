import { shownTime } from './times.ts';

/** Start or end of an event. */
export interface EventTime {
  /** Null in a request removes it. */
  date?: string | null;
  dateTime?: string | null;
  timeZone?: string;
}

/** A guest of an event. */
export interface Attendee {
  email: string;
  displayName?: string;
  responseStatus?: 'needsAction' | 'accepted' | 'declined' | 'tentative';
  comment?: string;
  optional?: boolean;
  resource?: boolean;
  organizer?: boolean;
  additionalGuests?: number;
}

interface Person {
  email: string;
  displayName?: string;
}

/** An event as it is stored in one calendar. */
export interface GoogleEvent {
  id: string;
  status: 'confirmed' | 'tentative' | 'cancelled';
  iCalUID: string;
  sequence: number;
  /** ISO times. */
  created: string;
  updated: string;
  creator: Person;
  organizer: Person;
  start?: EventTime;
  end?: EventTime;
  recurrence?: string[];
  recurringEventId?: string;
  originalStartTime?: EventTime;
  attendees?: Attendee[];
  summary?: string;
  transparency?: string;
  conferenceData?: Record<string, unknown>;
  hangoutLink?: string;
  guestsCanModify?: boolean;
  [field: string]: unknown;
}

/** An event with the version that its calendar gave it at its last change. */
export interface StoredEvent {
  event: GoogleEvent;
  version: number;
}

/** ETag of a version. */
export function etagOf(version: number): string {
  return `"${version * 2}"`;
}

/**
 * An event as a calendar's owner sees it.
 * @param zone of the calendar
 */
export function eventView(
  { event, version }: StoredEvent,
  calendarId: string,
  zone: string,
): object {
  const { start, end, originalStartTime, organizer, creator, attendees, ...rest } = event;
  const self = (email: string) => email === calendarId && { self: true };
  const base = { kind: 'calendar#event', etag: etagOf(version) };
  const original = originalStartTime && {
    originalStartTime: shownTime(originalStartTime, zone),
  };
  if (event.status === 'cancelled') {
    const { id, status, recurringEventId } = event;
    return { ...base, id, status, ...(recurringEventId && { recurringEventId }), ...original };
  }
  return {
    ...base,
    ...rest,
    htmlLink: `https://www.google.com/calendar/event?eid=${event.id}`,
    eventType: event['eventType'] ?? 'default',
    reminders: event['reminders'] ?? { useDefault: true },
    creator: { ...creator, ...self(creator.email) },
    organizer: { ...organizer, ...self(organizer.email) },
    ...(start && { start: shownTime(start, zone) }),
    ...(end && { end: shownTime(end, zone) }),
    ...original,
    ...(attendees && {
      attendees: attendees.map((one) => ({
        ...one,
        ...self(one.email),
        ...(one.email === organizer.email && { organizer: true }),
      })),
    }),
  };
}
