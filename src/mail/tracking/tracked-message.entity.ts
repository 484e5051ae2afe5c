import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import type { Recent } from './tracked-message.ts';

const TrackedMessageSchema = defineEntity({
  name: 'TrackedMessage',
  tableName: 'tracked_message',
  uniques: [{ name: 'tracked_message_account_header', properties: ['account', 'messageIdHeader'] }],
  indexes: [{ name: 'tracked_message_until', properties: ['countedUntil'] }],
  properties: {
    /** Id that the mirrored copy of the message has. */
    messageId: p.uuid().primary(),
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** With angle brackets. */
    messageIdHeader: p.text(),
    opens: p.boolean(),
    links: p.boolean(),
    threadReplies: p.boolean(),
    /** Text of the sender for the notifications, or `null`. */
    payload: p.text().nullable(),
    /** Different addresses of its links. */
    urls: p.array(),
    openCount: p.integer().default(0),
    /** Clicks on each of `urls`. May be shorter than `urls`; missing entries are 0. */
    clickCounts: p
      .array((count) => Number(count))
      .columnType('int[]')
      .default([]),
    /** Last openings and clicks, newest first. */
    recentOpens: p.json<Recent[]>().default([]),
    recentClicks: p.json<Recent[]>().default([]),
    /** Send time of the message. Earlier hits are not counted. */
    countedFrom: p.datetime().columnType('timestamptz'),
    /** Later hits are not counted, and the row is deleted. */
    countedUntil: p.datetime().columnType('timestamptz'),
  },
});

/** A message whose sender wants notifications of openings, clicks or replies. */
export class TrackedMessage extends TrackedMessageSchema.class {}
TrackedMessageSchema.setClass(TrackedMessage);
