import { defineEntity, p } from '@mikro-orm/core';
import type { Address } from '../../platform/base/text/address.ts';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const ThreadSchema = defineEntity({
  name: 'Thread',
  tableName: 'thread',
  indexes: [
    {
      // The last two are not for the order: threads that have begun before an instant, and how many messages an account
      // has, are known by the index alone.
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
    /** That of its first message. */
    subject: p.text(),
    /** The subject without reply prefixes, for answers that name no message they answer; null: it says nothing. */
    subjectKey: p.text().nullable(),
    firstMessageAt: p.datetime().columnType('timestamptz'),
    lastMessageAt: p.datetime().columnType('timestamptz'),
    /** Null: nothing was. What is in the inbox was received also when it is one's own. */
    lastReceivedAt: p.datetime().columnType('timestamptz').nullable(),
    /** Null: nothing was. */
    lastSentAt: p.datetime().columnType('timestamptz').nullable(),
    /** Without drafts. Threads without messages are not shown. */
    messageCount: p.integer().default(0),
    /** Whether one of its messages is. */
    unread: p.boolean().default(false),
    starred: p.boolean().default(false),
    /** Folders or labels of all its messages. Those that are gone may be among them: nobody asks for these. */
    folderIds: p.array().columnType('uuid[]').defaultRaw(`'{}'`),
    /** Grows with each change of its messages. */
    version: p.integer().default(0),
    updatedAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** A conversation; but for the subject, `refreshThreads` makes of its messages what stands here. */
export class Thread extends ThreadSchema.class {}
ThreadSchema.setClass(Thread);

const ThreadSummarySchema = defineEntity({
  name: 'ThreadSummary',
  tableName: 'thread_summary',
  properties: {
    thread: () => p.oneToOne(Thread).primary().deleteRule('cascade'),
    /** Everybody in its messages, in the order of these; nobody twice with the same address and name. */
    people: p.json<Address[]>(),
    /** Oldest first. */
    messageIds: p.array().columnType('uuid[]'),
    /** Of its newest message. */
    snippet: p.text(),
    hasAttachments: p.boolean(),
    /** About as many bytes are the people and the ids. */
    length: p.integer(),
  },
});

/**
 * What is shown of a thread but decides nothing; kept by `refreshThreads`, drafts apart. It is by itself so that threads
 * are short where many of them are looked at.
 */
export class ThreadSummary extends ThreadSummarySchema.class {}
ThreadSummarySchema.setClass(ThreadSummary);

const ThreadPersonSchema = defineEntity({
  name: 'ThreadPerson',
  tableName: 'thread_person',
  indexes: [
    {
      // The count is not for the order: how many threads and messages somebody is in is known by the index alone.
      name: 'thread_person_person',
      properties: ['account', 'person', 'thread', 'messages'],
    },
  ],
  properties: {
    thread: () => p.manyToOne(Thread).primary().deleteRule('cascade'),
    /** Somebody in a header (`messages/people.ts`). */
    person: p.text().primary(),
    /** The thread's. */
    account: p.uuid().fieldName('account_id'),
    /** In how many messages of the thread, drafts apart. */
    messages: p.integer(),
  },
});

/** Who is in which header of the messages of a thread; kept by `refreshThreads`. */
export class ThreadPerson extends ThreadPersonSchema.class {}
ThreadPersonSchema.setClass(ThreadPerson);
