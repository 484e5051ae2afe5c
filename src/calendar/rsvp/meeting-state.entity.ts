import { defineEntity, p } from '@mikro-orm/core';
import { Event } from '../events/event.entity.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import type { SeenReplies } from '../../formats/ical/revisions.ts';

const MeetingStateSchema = defineEntity({
  name: 'MeetingState',
  tableName: 'meeting_state',
  primaryKeys: ['account', 'key', 'instance'],
  indexes: [{ name: 'meeting_state_event', properties: ['event'] }],
  properties: {
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade').primary(),
    /**
     * Hash of UID and organizer (`meetingKey`). Mail that names another organizer refers to another
     * meeting.
     */
    key: p.text().primary(),
    /** `InstanceId.key` of an instance; empty for a series or a single event. */
    instance: p.text().primary(),
    /** `null` after a cancellation that arrived before the invitation. */
    event: () => p.manyToOne(Event).ref().nullable().deleteRule('cascade'),
    /**
     * Sender of the mail with the last revision, in lower case; `null` if not known for certain.
     */
    sender: p.text().nullable(),
    /** Whether that sender was the organizer. */
    trusted: p.boolean(),
    /** SEQUENCE and DTSTAMP (Unix seconds) of the last revision. */
    sequence: p.integer(),
    stamp: p.double().nullable(),
    cancelled: p.boolean(),
    /** The last answer of each participant, for meetings that the account organizes. */
    replies: p.json<SeenReplies>(),
    /** The job that sends the account's last answer to the organizer. */
    replyJobId: p.uuid().nullable(),
  },
});

/**
 * What mail has established about a meeting: the current revision (RFC 5546 2.1.5) and the answers
 * of participants.
 */
export class MeetingState extends MeetingStateSchema.class {}
MeetingStateSchema.setClass(MeetingState);
