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
    /** That of the message. */
    date: p.datetime().columnType('timestamptz'),
    /** See `searchDocument`. Not compressed (`storage external`): a search reads hundreds. */
    document: p.string().columnType('tsvector'),
  },
});

/** What a message is found by. Every lexeme begins with the account's key: the index is apart for each account. */
export class MessageSearch extends MessageSearchSchema.class {}
MessageSearchSchema.setClass(MessageSearch);

const SearchBacklogSchema = defineEntity({
  name: 'SearchBacklog',
  tableName: 'search_backlog',
  properties: {
    account: () => p.manyToOne(Grant).ref().primary().deleteRule('cascade'),
    /** Messages from here on, and later, have been gone through; null: none yet. */
    doneDate: p.datetime().columnType('timestamptz').nullable(),
    doneId: p.uuid().nullable(),
  },
});

/** An account whose messages were mirrored before they could be searched. */
export class SearchBacklog extends SearchBacklogSchema.class {}
SearchBacklogSchema.setClass(SearchBacklog);
