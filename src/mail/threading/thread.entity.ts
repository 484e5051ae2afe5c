import { defineEntity, p } from '@mikro-orm/core';
import type { Address } from '../../platform/base/text/address.ts';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const ThreadSchema = defineEntity({
  name: 'Thread',
  tableName: 'thread',
  indexes: [
    {
      // The last two columns are not for sorting. With them, the threads that began before an
      // instant and the number of an account's messages can be read from the index alone.
      name: 'thread_account_last',
      properties: ['account', 'lastMessageAt', 'id', 'firstMessageAt', 'messageCount'],
      where: 'message_count > 0',
    },
    {
      name: 'thread_account_unread',
      properties: ['account', 'lastMessageAt', 'id'],
      where: 'message_count > 0 and unread',
    },
    {
      name: 'thread_account_starred',
      properties: ['account', 'lastMessageAt', 'id'],
      where: 'message_count > 0 and starred',
    },
    {
      name: 'thread_account_exact_subject',
      expression: `create index "thread_account_exact_subject" on "thread" (account_id, md5(subject), last_message_at, id)`,
    },
    { name: 'thread_account_updated', properties: ['account', 'updatedAt'] },
    { name: 'thread_folders', properties: ['folderIds'], type: 'gin' },
    {
      name: 'thread_account_subject',
      properties: ['account', 'subjectKey'],
      where: 'subject_key is not null',
    },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** Subject of the first message. */
    subject: p.text(),
    /**
     * The subject without reply prefixes, for replies that name no message; `null` if nothing is
     * left.
     */
    subjectKey: p.text().nullable(),
    firstMessageAt: p.datetime().columnType('timestamptz'),
    lastMessageAt: p.datetime().columnType('timestamptz'),
    /**
     * `null` if no message was received. A message in the inbox counts as received even if the
     * account sent it.
     */
    lastReceivedAt: p.datetime().columnType('timestamptz').nullable(),
    /** `null` if no message was sent. */
    lastSentAt: p.datetime().columnType('timestamptz').nullable(),
    /** Number of messages without drafts. A thread without messages is hidden. */
    messageCount: p.integer().default(0),
    /** True if one of its messages is unread; `starred` likewise. */
    unread: p.boolean().default(false),
    starred: p.boolean().default(false),
    /**
     * Folders or labels of all its messages. It may contain ids of deleted folders, which no filter
     * asks for.
     */
    folderIds: p.array().columnType('uuid[]').defaultRaw(`'{}'`),
    /** Grows with each change of its messages. */
    version: p.integer().default(0),
    updatedAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/**
 * A thread (conversation). `refreshThreads` computes all columns except the subject from the
 * messages.
 */
export class Thread extends ThreadSchema.class {}
ThreadSchema.setClass(Thread);

const ThreadSummarySchema = defineEntity({
  name: 'ThreadSummary',
  tableName: 'thread_summary',
  properties: {
    thread: () => p.oneToOne(Thread).primary().deleteRule('cascade'),
    /**
     * People in its messages, in the order of the messages; no address appears twice with the same
     * name.
     */
    people: p.json<Address[]>(),
    /** Oldest first. */
    messageIds: p.array().columnType('uuid[]'),
    /** Snippet of its newest message. */
    snippet: p.text(),
    hasAttachments: p.boolean(),
    /** Approximate size of `people` and `messageIds` in bytes. */
    length: p.integer(),
    /** `null` in rows of earlier releases that are not filled yet (ADR 0170). */
    account: p.uuid().fieldName('account_id').nullable(),
  },
});

/**
 * Data of a thread that responses show but no filter uses. `refreshThreads` computes it; drafts are
 * left out. A separate table keeps the rows of `thread` short, because many of them are read at
 * once.
 */
export class ThreadSummary extends ThreadSummarySchema.class {}
ThreadSummarySchema.setClass(ThreadSummary);

const ThreadPersonSchema = defineEntity({
  name: 'ThreadPerson',
  tableName: 'thread_person',
  indexes: [
    {
      // `messages` is not for sorting. With it, the number of threads and messages of a person can
      // be read from the index alone.
      name: 'thread_person_person',
      properties: ['account', 'person', 'thread', 'messages'],
    },
  ],
  properties: {
    thread: () => p.manyToOne(Thread).primary().deleteRule('cascade'),
    /** Key of a person in a header (`messages/people.ts`). */
    person: p.text().primary(),
    /** Account of the thread. */
    account: p.uuid().fieldName('account_id'),
    /** Number of messages in the thread that have the person, without drafts. */
    messages: p.integer(),
  },
});

/** People in the headers of a thread's messages, computed by `refreshThreads`. */
export class ThreadPerson extends ThreadPersonSchema.class {}
ThreadPersonSchema.setClass(ThreadPerson);
