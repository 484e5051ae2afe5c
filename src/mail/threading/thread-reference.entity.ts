import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { Thread } from './thread.entity.ts';

const ThreadReferenceSchema = defineEntity({
  name: 'ThreadReference',
  tableName: 'thread_reference',
  indexes: [{ name: 'thread_reference_thread', properties: ['thread'] }],
  properties: {
    account: () => p.manyToOne(Grant).primary().deleteRule('cascade'),
    /** With angle brackets. */
    messageIdHeader: p.text().primary(),
    thread: () => p.manyToOne(Thread).ref().deleteRule('cascade'),
  },
});

/** A Message-ID that a message of the account has or names, and its thread (ADR 0025). */
export class ThreadReference extends ThreadReferenceSchema.class {}
ThreadReferenceSchema.setClass(ThreadReference);
