import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../../accounts/grants/grant.entity.ts';
import { Message } from '../message.entity.ts';

const SearchDocumentSchema = defineEntity({
  name: 'SearchDocument',
  tableName: 'search_document',
  partitionBy: { type: 'hash', expression: 'account_id', partitions: 32 },
  indexes: [
    {
      name: 'search_document_lexemes',
      expression: `create index "search_document_lexemes" on "search_document" using gin (search_lexemes(account_id, document)) with (fastupdate = on, gin_pending_list_limit = 1024)`,
    },
  ],
  properties: {
    account: () => p.manyToOne(Grant).ref().primary().deleteRule('cascade'),
    /** No foreign key: it could not tell the partition. */
    messageId: p.uuid().primary(),
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
 * Search document of a message. The lexemes of the index begin with a key of the account
 * (`indexLexeme`).
 */
export class SearchDocument extends SearchDocumentSchema.class {}
SearchDocumentSchema.setClass(SearchDocument);

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
 * Search document of a message, as an earlier release wrote it. Every lexeme begins with a key of
 * the account (`keyedLexeme`). Workers move the rows to `search_document` (ADR 0167).
 */
export class MessageSearch extends MessageSearchSchema.class {}
MessageSearchSchema.setClass(MessageSearch);
