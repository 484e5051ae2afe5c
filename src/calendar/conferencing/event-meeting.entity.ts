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
    /**
     * No foreign key: the meeting must still be deleted at the service after the event was deleted.
     */
    eventId: p.uuid(),
    /** One of `CONFERENCING_PROVIDERS`. */
    provider: p.text(),
    /** Kind of the service that created the meeting. */
    kind: p.text(),
    /**
     * Random key. Used to find the meeting at the service if the response to its creation was lost.
     */
    key: p.text(),
    /** When the service was first asked to create the meeting. */
    askedAt: p.datetime().columnType('timestamptz'),
    /**
     * The service's id of the meeting; `null` while it is unknown whether the meeting was created.
     */
    remoteId: p.text().nullable(),
    details: p.json<MeetingDetails>().nullable(),
    /** Last content sent to the service; `null` if unknown. */
    written: p.json<MeetingContent>().nullable(),
    /** Version of the event that `written` was made from. */
    eventVersion: p.integer().nullable(),
    /** True if the event no longer wants the meeting; it is to be deleted. */
    released: p.boolean().default(false),
    /** When `MeetingUpkeep` next processes the meeting; `null` if nothing is to be done. */
    dueAt: p.datetime().columnType('timestamptz').nullable(),
    /** Failed attempts of `MeetingUpkeep`. */
    attempts: p.smallint().default(0),
    ...timestampColumns,
  },
});

/** An online meeting that was created for an event, or is being created. */
export class EventMeeting extends EventMeetingSchema.class {}
EventMeetingSchema.setClass(EventMeeting);
