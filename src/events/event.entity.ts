import { defineEntity, p } from '@mikro-orm/core';
import { Calendar } from '../calendars/calendar.entity.ts';
import { idColumn, timestampColumns } from '../database/base-columns.ts';
import { Grant } from '../grants/grant.entity.ts';
import type {
  Conferencing,
  Participant,
  Recurrence,
  ReminderSettings,
  StoredNotification,
  When,
} from './event-values.ts';
import { EVENT_STATUSES } from './event-values.ts';

const EventSchema = defineEntity({
  name: 'Event',
  tableName: 'event',
  uniques: [{ name: 'event_account_provider_id', properties: ['account', 'providerId'] }],
  indexes: [
    { name: 'event_account_start', properties: ['account', 'startsAt', 'id'] },
    { name: 'event_calendar_start', properties: ['calendar', 'startsAt'] },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    calendar: () => p.manyToOne(Calendar).ref().deleteRule('cascade'),
    /** Null until the provider has it. */
    providerId: p.text().nullable(),
    icalUid: p.text().nullable(),
    title: p.text(),
    description: p.text(),
    location: p.text(),
    /** As given, after normalising (equal ends collapse, numbers). */
    when: p.json<When>().fieldName('when_value'),
    /** First and last instant of `when`; all-day events in the calendar's zone, else UTC. */
    startsAt: p.datetime().columnType('timestamptz'),
    endsAt: p.datetime().columnType('timestamptz'),
    busy: p.boolean(),
    readOnly: p.boolean(),
    status: p.enum(EVENT_STATUSES),
    /** `public`, `private` or null. */
    visibility: p.text().nullable(),
    hideParticipants: p.boolean(),
    participants: p.json<Participant[]>(),
    organizerEmail: p.text().nullable(),
    organizerName: p.text().nullable(),
    recurrence: p.json<Recurrence>().nullable(),
    conferencing: p.json<Conferencing>().nullable(),
    reminders: p.json<ReminderSettings>().nullable(),
    notifications: p.json<StoredNotification[]>(),
    metadata: p.json<Record<string, string>>(),
    customerEventId: p.text().nullable(),
    eventCollectionId: p.text().nullable(),
    /** -1: no limit. Null: not given. */
    capacity: p.integer().nullable(),
    roundRobinOrder: p.array(),
    /** Grows with each change; reminders carry the version they were planned for. */
    version: p.integer().default(1),
    ...timestampColumns,
  },
});

/** An event (spec 2.8, api facts 7.3). A deleted event stays as `cancelled`. */
export class Event extends EventSchema.class {}
EventSchema.setClass(Event);
