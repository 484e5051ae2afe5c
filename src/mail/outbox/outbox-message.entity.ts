import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { RECIPIENTS_IN_LOWER_CASE, SUBJECT_WORDS } from './outbox-columns.ts';
import { ON_MISSED, ON_UNKNOWN } from './accept/outbox-content.ts';

const OutboxMessageSchema = defineEntity({
  name: 'OutboxMessage',
  tableName: 'outbox_message',
  indexes: [
    { name: 'outbox_message_account', properties: ['account', 'id'] },
    {
      // Other headers begin with the id of the row. Operators search without the account.
      name: 'outbox_message_foreign_header',
      properties: ['messageIdHeader', 'account'],
      where: 'foreign_header',
    },
    {
      // Only messages whose provider named the sender's copy.
      name: 'outbox_message_stored_copy',
      properties: ['account', 'storedProviderId'],
      where: 'stored_provider_id is not null',
    },
    {
      // Finds messages that name an upload. Messages without uploads are not in the index.
      name: 'outbox_message_files',
      expression: `create index "outbox_message_files" on "outbox_message" using gin ((content -> 'file_ids') jsonb_path_ops) where content -> 'file_ids' is not null`,
    },
    // Operators search over all accounts (ADR 0089). With a short pending list, no insert has to
    // move thousands of entries.
    {
      name: 'outbox_message_recipients',
      expression: `create index "outbox_message_recipients" on "outbox_message" using gin ((${RECIPIENTS_IN_LOWER_CASE('')}) jsonb_path_ops) with (gin_pending_list_limit = 256)`,
    },
    {
      name: 'outbox_message_subject',
      expression: `create index "outbox_message_subject" on "outbox_message" using gin (${SUBJECT_WORDS('')}) with (gin_pending_list_limit = 256)`,
    },
  ],
  properties: {
    /** The job_status_id. */
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** The content as the API shows it, without the times. */
    content: p.json<Record<string, unknown>>(),
    /**
     * Two fields of the content that the sender needs. Reading them from `content` would decompress
     * all of it, twice.
     */
    bcc: p.json().nullable().generated(`(content -> 'bcc') stored`),
    draft: p.json().nullable().generated(`(content -> 'draft') stored`),
    /** `{ from, recipients }` of the SMTP transaction. */
    envelope: p.json<{ from: string; recipients: string[] }>(),
    /** Composed when the message is accepted or edited, with its final Message-ID. */
    mime: p.blob(),
    /** Includes the angle brackets. Fixed when the message is accepted. */
    messageIdHeader: p.text(),
    /** Whether the sender chose the Message-ID, and it does not begin with the id of this row. */
    foreignHeader: p.boolean().default(false),
    /**
     * Recipients that have accepted the message, in lower case. A retry goes to the others only.
     */
    accepted: p.array().default([]),
    /** Recipients that have refused the message for good: `{ email, reason }`. */
    refused: p.json<{ email: string; reason: string }[]>().default([]),
    /**
     * What to do with a message that is picked up late: `send`, or `skip` it beyond
     * `maxLatenessSeconds`.
     */
    onMissed: p.enum(ON_MISSED).default('send'),
    maxLatenessSeconds: p.integer().nullable(),
    /**
     * What to do if the outcome stays unknown: `resend` or `fail`; `null` for the server's default.
     */
    onUnknown: p.enum(ON_UNKNOWN).nullable(),
    /**
     * The provider's id of the sender's copy, if the provider named it when it accepted the
     * message.
     */
    storedProviderId: p.text().nullable(),
  },
});

/** Content of an outbox message, with the recipients that have accepted or refused it. */
export class OutboxMessage extends OutboxMessageSchema.class {}
OutboxMessageSchema.setClass(OutboxMessage);
