import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { Thread } from './thread.entity.ts';

const ThreadReferenceSchema = defineEntity({
  name: 'ThreadReference',
  tableName: 'thread_reference',
  indexes: [{ name: 'thread_reference_thread', properties: ['thread'] }],
  properties: {
    account: () => p.manyToOne(Grant).primary().deleteRule('cascade'),
    /** A Message-ID with angle brackets, or a thread of the provider (`provider-threads.ts`). */
    messageIdHeader: p.text().primary(),
    thread: () => p.manyToOne(Thread).ref().deleteRule('cascade'),
  },
});

/**
 * The thread of a Message-ID that a message of the account has or names, or of a provider's thread
 * (ADR 0025, ADR 0077).
 */
export class ThreadReference extends ThreadReferenceSchema.class {}
ThreadReferenceSchema.setClass(ThreadReference);
