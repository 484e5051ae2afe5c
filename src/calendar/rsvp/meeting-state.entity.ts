import { defineEntity, p } from '@mikro-orm/core';
import { Event } from '../event-store/event.entity.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import type { SeenReplies } from '../../formats/ical/revisions.ts';

const MeetingStateSchema = defineEntity({
  name: 'MeetingState',
  tableName: 'meeting_state',
  primaryKeys: ['account', 'key', 'instance'],
  indexes: [{ name: 'meeting_state_event', properties: ['event'] }],
  properties: {
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade').primary(),
    /** Hash of UID and organizer (`meetingKey`): nobody else's mail says anything of the same meeting. */
    key: p.text().primary(),
    /** `InstanceId.key`; empty: the series, or an event that stands alone. */
    instance: p.text().primary(),
    /** Null: a cancellation that came before what it cancels. */
    event: () => p.manyToOne(Event).ref().nullable().deleteRule('cascade'),
    /** Whose mail the last revision came by, lower case; null: it did not say. */
    sender: p.text().nullable(),
    /** Whether that was the organizer. */
    trusted: p.boolean(),
    /** SEQUENCE and DTSTAMP (Unix seconds) of the last revision. */
    sequence: p.integer(),
    stamp: p.double().nullable(),
    cancelled: p.boolean(),
    /** The last answer of each participant, for meetings of the account's own. */
    replies: p.json<SeenReplies>(),
    /** The job that carries the account's last answer to the organizer. */
    replyJobId: p.uuid().nullable(),
  },
});

/** What mail has said of a meeting: the revision that holds (RFC 5546 2.1.5), and who has answered. */
export class MeetingState extends MeetingStateSchema.class {}
MeetingStateSchema.setClass(MeetingState);
