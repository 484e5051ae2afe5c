import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../database/base-columns.ts';
import { Grant } from '../grants/grant.entity.ts';

const ThreadSchema = defineEntity({
  name: 'Thread',
  tableName: 'thread',
  indexes: [{ name: 'thread_account_last', properties: ['account', 'lastMessageAt'] }],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    subject: p.text(),
    firstMessageAt: p.datetime().columnType('timestamptz'),
    lastMessageAt: p.datetime().columnType('timestamptz'),
  },
});

/** A conversation. */
export class Thread extends ThreadSchema.class {}
ThreadSchema.setClass(Thread);
