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
  return {
    title: event.title,
    description: event.description,
    location: event.location,
    when: event.when,
    startsAt: event.startsAt,
    endsAt: event.endsAt,
    busy: event.busy,
    visibility: event.visibility ?? null,
    hideParticipants: event.hideParticipants,
    participants: event.participants,
    recurrence: event.recurrence ?? null,
    conferencing: event.conferencing ?? null,
    autocreate: event.autocreate ?? null,
    reminders: event.reminders ?? null,
    notifications: event.notifications,
    metadata: event.metadata,
    customerEventId: event.customerEventId ?? null,
    eventCollectionId: event.eventCollectionId ?? null,
    capacity: event.capacity ?? null,
    roundRobinOrder: event.roundRobinOrder,
  };
}

/** The plain value of an entity. */
export function eventRecord(event: Event): EventRecord {
  return {
    id: event.id,
    accountId: event.account.id,
    calendarId: event.calendar.id,
    icalUid: event.icalUid ?? null,
    messageId: event.messageId ?? null,
    status: event.status,
    readOnly: event.readOnly,
    masterEventId: event.masterEventId ?? null,
    originalStart: event.originalStart ?? null,
    organizerEmail: event.organizerEmail ?? null,
    organizerName: event.organizerName ?? null,
    updatedAt: event.updatedAt,
    ...eventFields(event),
  };
}
