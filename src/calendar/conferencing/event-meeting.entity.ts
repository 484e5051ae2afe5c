import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import type { MeetingContent, MeetingDetails } from '../../providers/port/conferencing-port.ts';

const EventMeetingSchema = defineEntity({
  name: 'EventMeeting',
  tableName: 'event_meeting',
  uniques: [{ name: 'event_meeting_event', properties: ['eventId'], where: 'not released' }],
  indexes: [
    { name: 'event_meeting_due', properties: ['dueAt'], where: 'due_at is not null' },
    { name: 'event_meeting_account', properties: ['account'] },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** No reference: the meeting has to be deleted when the event is gone. */
    eventId: p.uuid(),
    /** One of `CONFERENCING_PROVIDERS`. */
    provider: p.text(),
    /** Of the service it was made at. */
    kind: p.text(),
    /** Unguessable; what the service is asked for when the answer to making it was lost. */
    key: p.text(),
    /** When the service was first asked to make it. */
    askedAt: p.datetime().columnType('timestamptz'),
    /** The service's id; null: not known to have been made. */
    remoteId: p.text().nullable(),
    details: p.json<MeetingDetails>().nullable(),
    /** What the service was told last; null: not known. */
    written: p.json<MeetingContent>().nullable(),
    /** Version of the event that `written` is of. */
    eventVersion: p.integer().nullable(),
    /** Its event does not want it any more: to be deleted. */
    released: p.boolean().default(false),
    /** When it is looked after next; null: nothing to do. */
    dueAt: p.datetime().columnType('timestamptz').nullable(),
    /** Times it was looked after without success. */
    attempts: p.smallint().default(0),
    ...timestampColumns,
  },
});

/** An online meeting that was made for an event, or is being made. */
export class EventMeeting extends EventMeetingSchema.class {}
EventMeetingSchema.setClass(EventMeeting);
