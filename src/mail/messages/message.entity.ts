import { defineEntity, p } from '@mikro-orm/core';
import type { Address } from '../../platform/base/text/address.ts';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { Thread } from '../threading/thread.entity.ts';

const MessageSchema = defineEntity({
  name: 'Message',
  tableName: 'message',
  uniques: [{ name: 'message_account_provider_id', properties: ['account', 'providerId'] }],
  indexes: [
    { name: 'message_account_date', properties: ['account', 'date', 'id'], where: 'not draft' },
    { name: 'message_account_drafts', properties: ['account', 'date', 'id'], where: 'draft' },
    { name: 'message_account_header', properties: ['account', 'messageIdHeader'] },
    { name: 'message_thread', properties: ['thread'] },
    { name: 'message_thread_drafts', properties: ['thread'], where: 'draft' },
    {
      name: 'message_account_unread',
      properties: ['account', 'date', 'id'],
      where: 'unread and not draft',
    },
    {
      name: 'message_account_starred',
      properties: ['account', 'date', 'id'],
      where: 'starred and not draft',
    },
    {
      name: 'message_account_attachments',
      properties: ['account', 'date', 'id'],
      where: 'has_attachments and not draft',
    },
    {
      name: 'message_account_metadata',
      properties: ['account', 'date', 'id'],
      where: `metadata <> '{}'::jsonb`,
    },
    {
      name: 'message_account_subject',
      expression: `create index "message_account_subject" on "message" (account_id, md5(subject), date, id)`,
    },
    { name: 'message_participants', properties: ['participants'], type: 'gin' },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** Null while a draft of ours is on its way there. */
    providerId: p.text().nullable(),
    thread: () => p.manyToOne(Thread).ref().deleteRule('cascade'),
    subject: p.text(),
    snippet: p.text(),
    /** When it was received (or sent, for sent mail). */
    date: p.datetime().columnType('timestamptz'),
    from: p.json<Address[]>().fieldName('from_addresses'),
    to: p.json<Address[]>().fieldName('to_addresses'),
    cc: p.json<Address[]>().fieldName('cc_addresses'),
    bcc: p.json<Address[]>().fieldName('bcc_addresses'),
    replyTo: p.json<Address[]>().fieldName('reply_to_addresses'),
    /** Who is in which header (`people.ts`): what filters by address look at. */
    participants: p.array(),
    unread: p.boolean(),
    starred: p.boolean(),
    hasAttachments: p.boolean(),
    /** Excluded from lists of messages unless asked for. */
    draft: p.boolean(),
    /** Message-ID with its angle brackets; null when the message has none. */
    messageIdHeader: p.text().nullable(),
    inReplyTo: p.text().nullable(),
    references: p.array().fieldName('reference_ids'),
    metadata: p.json<Record<string, string>>(),
    /** Of a draft: grows with each edit through the API. */
    version: p.integer().default(0),
    /** Of a draft: deleted here, and not shown; kept until the provider has deleted it too, or refused to. */
    deleting: p.boolean().default(false),
    /** Of a draft: the message it answers, as far as it is known here. */
    replyToMessageId: p.uuid().nullable(),
    createdAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    updatedAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** What lists show of a message; the body is in `message_body`. */
export class Message extends MessageSchema.class {}
MessageSchema.setClass(Message);

const MessageBodySchema = defineEntity({
  name: 'MessageBody',
  tableName: 'message_body',
  properties: {
    message: () => p.oneToOne(Message).primary().deleteRule('cascade'),
    /** HTML as received; plain text messages become HTML. */
    body: p.text(),
    /** The header block as received, decoded as UTF-8 or else Latin-1; null: not kept. */
    headers: p.text().nullable(),
  },
});

/** The large part of a message. */
export class MessageBody extends MessageBodySchema.class {}
MessageBodySchema.setClass(MessageBody);
