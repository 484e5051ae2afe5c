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
import { withAddress } from './event-values.ts';
import { CONTENT_FIELDS, DECIDED_FIELDS, pickFields, RECORD_FIELDS } from './event-columns.ts';
import type { Event } from './event.entity.ts';

/** The fields of an event that callers set. */
export interface EventFields {
  title: string;
  description: string;
  location: string;
  when: When;
  startsAt: Date;
  endsAt: Date;
  busy: boolean;
  /** A note of the application for those who read the event. It refuses no change (ADR 0106). */
  readOnly: boolean;
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
  /** Maximum number of participants; -1 means no limit. */
  capacity: number | null;
  roundRobinOrder: string[];
}

/** An event as a plain value. */
export interface EventRecord extends EventFields {
  id: string;
  accountId: string;
  calendarId: string;
  icalUid: string | null;
  /**
   * The message that invited the account to the event; it may have been deleted. `null` if the
   * event is no invitation.
   */
  messageId: string | null;
  status: EventStatus;
  /**
   * The series of a changed instance. `null` for other events, and if the account was invited to
   * the instance only.
   */
  masterEventId: string | null;
  originalStart: Date | null;
  organizerEmail: string | null;
  organizerName: string | null;
  updatedAt: Date;
  /** What could not be read of the event's file and is left out here, in plain words. */
  warnings: string[];
}

/** The fields of an entity that callers set. */
export function eventFields(event: Event | EventFields): EventFields {
  return pickFields(event, DECIDED_FIELDS);
}

/** An entity as a plain value. */
export function eventRecord(event: Event): EventRecord {
  const { account, calendar } = event;
  return { ...pickFields(event, RECORD_FIELDS), accountId: account.id, calendarId: calendar.id };
}

/** The part of an event that the provider stores, with the field names of the API. */
export function toEventContent(event: EventFields & Pick<EventRecord, 'status'>): EventContent {
  return {
    ...pickFields(event, CONTENT_FIELDS),
    participants: withAddress(event.participants),
    hide_participants: event.hideParticipants,
  };
}
