import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import type { Recent } from './tracked-message.ts';

const TrackedMessageSchema = defineEntity({
  name: 'TrackedMessage',
  tableName: 'tracked_message',
  uniques: [{ name: 'tracked_message_account_header', properties: ['account', 'messageIdHeader'] }],
  indexes: [{ name: 'tracked_message_until', properties: ['countedUntil'] }],
  properties: {
    /** What the mirrored copy of the message is called. */
    messageId: p.uuid().primary(),
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** With angle brackets. */
    messageIdHeader: p.text(),
    opens: p.boolean(),
    links: p.boolean(),
    threadReplies: p.boolean(),
    /** What the sender has given along, for the notifications; null: nothing. */
    payload: p.text().nullable(),
    /** The different addresses of its links. */
    urls: p.array(),
    openCount: p.integer().default(0),
    /** Clicks on each of `urls`; shorter where nobody has clicked on the last ones. */
    clickCounts: p
      .array((count) => Number(count))
      .columnType('int[]')
      .default([]),
    /** The last openings and clicks, newest first. */
    recentOpens: p.json<Recent[]>().default([]),
    recentClicks: p.json<Recent[]>().default([]),
    /** When it is to be sent: earlier nobody can have it. */
    countedFrom: p.datetime().columnType('timestamptz'),
    /** Nothing is counted afterwards, and the row goes. */
    countedUntil: p.datetime().columnType('timestamptz'),
  },
});

/** A message whose sender wants to be told of openings, clicks or replies. */
export class TrackedMessage extends TrackedMessageSchema.class {}
TrackedMessageSchema.setClass(TrackedMessage);
