import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { Message } from '../messages/message.entity.ts';

const MessageSearchSchema = defineEntity({
  name: 'MessageSearch',
  tableName: 'message_search',
  indexes: [
    {
      name: 'message_search_document',
      expression: `create index "message_search_document" on "message_search" using gin ("document") with (fastupdate = on, gin_pending_list_limit = 1024)`,
    },
  ],
  properties: {
    message: () => p.oneToOne(Message).primary().deleteRule('cascade'),
    accountId: p.uuid(),
    /** Copy of the message's date. */
    date: p.datetime().columnType('timestamptz'),
    /**
     * See `searchDocument`. Stored uncompressed (`storage external`), because a search reads
     * hundreds of documents.
     */
    document: p.string().columnType('tsvector'),
  },
});

/**
 * Search document of a message. Every lexeme begins with the account's key, which separates the
 * accounts within the index.
 */
export class MessageSearch extends MessageSearchSchema.class {}
MessageSearchSchema.setClass(MessageSearch);

const TextBacklogSchema = defineEntity({
  name: 'TextBacklog',
  tableName: 'text_backlog',
  properties: {
    account: () => p.manyToOne(Grant).ref().primary().deleteRule('cascade'),
    /** Messages from this date on have been processed; `null` if none have. */
    doneDate: p.datetime().columnType('timestamptz').nullable(),
    doneId: p.uuid().nullable(),
  },
});

/** An account with messages whose snippets and search documents an earlier version made. */
export class TextBacklog extends TextBacklogSchema.class {}
TextBacklogSchema.setClass(TextBacklog);
