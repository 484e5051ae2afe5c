import type { EventContent } from '../../providers/port/connector.ts';
import type { Metadata } from '../../platform/database/metadata-filter.ts';
import type {
  Conferencing,
  EventAutocreate,
  EventStatus,
  Participant,
  Recurrence,
  ReminderSettings,
  StoredNotification,
  When,
} from './event-values.ts';
import { CONTENT_FIELDS, DECIDED_FIELDS, pickFields, RECORD_FIELDS } from './event-columns.ts';
import type { Event } from './event.entity.ts';

/** What callers decide about an event. */
export interface EventFields {
  title: string;
  description: string;
  location: string;
  when: When;
  startsAt: Date;
  endsAt: Date;
  busy: boolean;
  visibility: string | null;
  hideParticipants: boolean;
  participants: Participant[];
  recurrence: Recurrence | null;
  conferencing: Conferencing | null;
  autocreate: EventAutocreate | null;
  reminders: ReminderSettings | null;
  notifications: StoredNotification[];
  metadata: Metadata;
  customerEventId: string | null;
  eventCollectionId: string | null;
  /** -1: no limit. */
  capacity: number | null;
  roundRobinOrder: string[];
}

/** An event as a plain value. */
export interface EventRecord extends EventFields {
  id: string;
  accountId: string;
  calendarId: string;
  icalUid: string | null;
  /** The mail that it was invited to by, which may be gone; null: it is no invitation. */
  messageId: string | null;
  status: EventStatus;
  readOnly: boolean;
  /** Of a changed instance of a series: the series; null also where the account has only been given the instance. */
  masterEventId: string | null;
  originalStart: Date | null;
  organizerEmail: string | null;
  organizerName: string | null;
  updatedAt: Date;
}

/** The part of an entity that callers decide. */
export function eventFields(event: Event | EventFields): EventFields {
  return pickFields(event, DECIDED_FIELDS);
}

/** The plain value of an entity. */
export function eventRecord(event: Event): EventRecord {
  const { account, calendar } = event;
  return { ...pickFields(event, RECORD_FIELDS), accountId: account.id, calendarId: calendar.id };
}

/** The part of an event the provider keeps, by the wire's names. */
export function toEventContent(event: EventFields & Pick<EventRecord, 'status'>): EventContent {
  return { ...pickFields(event, CONTENT_FIELDS), hide_participants: event.hideParticipants };
}
