import { defineEntity, p } from '@mikro-orm/core';
import type { Address } from '../../platform/base/text/address.ts';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import type { TrackingWish } from '../tracking/tracker.ts';
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
    { name: 'message_account_listed', properties: ['account', 'date', 'id'], where: 'listed' },
    {
      name: 'message_unreported',
      properties: ['account', 'createdAt'],
      where: 'provider_id is null and not draft',
    },
    { name: 'message_participants', properties: ['participants'], type: 'gin' },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /**
     * `null` while the provider has not reported the message: a draft that was written here, or a
     * message that was sent from here (ADR 0119).
     */
    providerId: p.text().nullable(),
    thread: () => p.manyToOne(Thread).ref().deleteRule('cascade'),
    subject: p.text(),
    snippet: p.text(),
    /** Time of receipt; for sent mail the time of sending. */
    date: p.datetime().columnType('timestamptz'),
    from: p.json<Address[]>().fieldName('from_addresses'),
    to: p.json<Address[]>().fieldName('to_addresses'),
    cc: p.json<Address[]>().fieldName('cc_addresses'),
    bcc: p.json<Address[]>().fieldName('bcc_addresses'),
    replyTo: p.json<Address[]>().fieldName('reply_to_addresses'),
    /** People in the headers (`people.ts`), for filters by address. */
    participants: p.array(),
    unread: p.boolean(),
    starred: p.boolean(),
    hasAttachments: p.boolean(),
    /** Drafts are left out of lists of messages unless requested. */
    draft: p.boolean(),
    /**
     * True until the content of a message from the history has been fetched (ADR 0077). Fields that
     * are not known yet are empty.
     */
    listed: p.boolean().default(false),
    /** Message-ID with its angle brackets; `null` if the message has none. */
    messageIdHeader: p.text().nullable(),
    inReplyTo: p.text().nullable(),
    references: p.array().fieldName('reference_ids'),
    metadata: p.json<Record<string, string>>(),
    /**
     * Events of the account's calendars that came with the message; `null` if there are none. They
     * may have been deleted.
     */
    eventIds: p.array().columnType('uuid[]').nullable(),
    /** Only for drafts: version, which grows with each change of the content. */
    version: p.integer().default(0),
    /**
     * Only for drafts: true once the draft was deleted here. The row is hidden and stays until the
     * provider has deleted the draft or refused to.
     */
    deleting: p.boolean().default(false),
    /** Only for drafts: the message that the request named. Others are found by `inReplyTo`. */
    replyToMessageId: p.uuid().nullable(),
    /** Only for drafts: notifications that the sender wants about the sent message. */
    tracking: p.json<TrackingWish>().nullable(),
    createdAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    updatedAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** A message as lists show it. Its body is in `message_content`. */
export class Message extends MessageSchema.class {}
MessageSchema.setClass(Message);
