import { defineEntity, p } from '@mikro-orm/core';
import { Calendar } from '../calendars/calendar.entity.ts';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import type {
  Conferencing,
  EventAutocreate,
  Participant,
  Recurrence,
  ReminderSettings,
  StoredNotification,
  When,
} from './event-values.ts';
import { EVENT_STATUSES } from './event-values.ts';
import { ANSWERED_OR_GROUP, LAST_DAY, SHORT_TIME } from './time-taken.sql.ts';

const EventSchema = defineEntity({
  name: 'Event',
  tableName: 'event',
  uniques: [
    { name: 'event_account_provider_id', properties: ['account', 'providerId'] },
    {
      name: 'event_instance',
      properties: ['masterEventId', 'originalStart'],
      where: 'master_event_id is not null and not released',
    },
  ],
  indexes: [
    { name: 'event_account_start', properties: ['account', 'startsAt', 'id'] },
    { name: 'event_calendar_start', properties: ['calendar', 'startsAt'] },
    {
      name: 'event_long',
      properties: ['calendar', 'endsAt'],
      where: `(ends_at - starts_at) > '7 days'::interval`,
    },
    {
      name: 'event_collection',
      properties: ['account', 'eventCollectionId'],
      where: 'event_collection_id is not null',
    },
    { name: 'event_series', properties: ['account', 'startsAt'], where: 'recurrence is not null' },
    {
      name: 'event_time_taken',
      expression: `create index "event_time_taken" on "event" (calendar_id, starts_at) include (ends_at, status) where recurrence is null and ${SHORT_TIME} and not ${ANSWERED_OR_GROUP}`,
    },
    {
      name: 'event_time_taken_perhaps',
      expression: `create index "event_time_taken_perhaps" on "event" (calendar_id, starts_at) where recurrence is null and ${SHORT_TIME} and ${ANSWERED_OR_GROUP}`,
    },
    {
      name: 'event_series_last_day',
      expression: `create index "event_series_last_day" on "event" (calendar_id, ${LAST_DAY}) where recurrence is not null and ${SHORT_TIME}`,
    },
    { name: 'event_ical_uid', properties: ['icalUid'], type: 'hash' },
    {
      name: 'event_instances',
      properties: ['masterEventId'],
      where: 'master_event_id is not null',
    },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    calendar: () => p.manyToOne(Calendar).ref().deleteRule('cascade'),
    /** `null` until the provider has the event. */
    providerId: p.text().nullable(),
    icalUid: p.text().nullable(),
    /** The message that invited the account to the event; it may have been deleted. */
    messageId: p.uuid().nullable(),
    /**
     * `provider_id` of the series of a changed instance. The account may not have the series
     * itself.
     */
    masterProviderId: p.text().nullable(),
    masterEventId: p.uuid().nullable(),
    /** When a changed instance would have begun without the change. */
    originalStart: p.datetime().columnType('timestamptz').nullable(),
    /**
     * True for a changed instance whose row no longer counts: the rules of its series decide again
     * whether an instance takes place at that time (ADR 0042).
     */
    released: p.boolean().default(false),
    /**
     * Content at the provider when it was last read or written. Changes are compared with it.
     * `null` if not known.
     */
    providerContent: p.json<Record<string, unknown>>().nullable(),
    /** The `version` that the provider has. */
    providerVersion: p.integer().nullable(),
    providerSeenAt: p.datetime().columnType('timestamptz').nullable(),
    /** What could not be read of the event's file and is left out here, in plain words. */
    warnings: p.array().default([]),
    title: p.text(),
    description: p.text(),
    location: p.text(),
    /**
     * The value that the caller gave, normalised by `readWhen`: a timespan or datespan with equal
     * ends is a time or date.
     */
    when: p.json<When>().fieldName('when_value'),
    /**
     * First and last instant of `when`. All-day events use the calendar's zone, or UTC if it has
     * none.
     */
    startsAt: p.datetime().columnType('timestamptz'),
    endsAt: p.datetime().columnType('timestamptz'),
    busy: p.boolean(),
    readOnly: p.boolean(),
    status: p.enum(EVENT_STATUSES),
    /** `public`, `private` or `null`. */
    visibility: p.text().nullable(),
    hideParticipants: p.boolean(),
    participants: p.json<Participant[]>(),
    organizerEmail: p.text().nullable(),
    organizerName: p.text().nullable(),
    recurrence: p.json<Recurrence>().nullable(),
    conferencing: p.json<Conferencing>().nullable(),
    /**
     * The meeting that is to be created for the event. Once it is created, `conferencing` has its
     * details.
     */
    autocreate: p.json<EventAutocreate>().nullable(),
    reminders: p.json<ReminderSettings>().nullable(),
    notifications: p.json<StoredNotification[]>(),
    metadata: p.json<Record<string, string>>(),
    customerEventId: p.text().nullable(),
    eventCollectionId: p.text().nullable(),
    /** Maximum number of participants; -1 means no limit, `null` means not given. */
    capacity: p.integer().nullable(),
    roundRobinOrder: p.array(),
    /** Grows with each change. Reminders carry the version they were planned for. */
    version: p.integer().default(1),
    /** SEQUENCE of iCalendar (RFC 5546 2.1.4): the revision that participants know. */
    sequence: p.integer().default(0),
    ...timestampColumns,
  },
});

/** An event. A deleted event stays as a row with the status `cancelled`. */
export class Event extends EventSchema.class {}
EventSchema.setClass(Event);
