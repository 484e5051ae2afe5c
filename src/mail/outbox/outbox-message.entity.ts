import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { ON_MISSED, ON_UNKNOWN } from './outbox-content.ts';

const OutboxMessageSchema = defineEntity({
  name: 'OutboxMessage',
  tableName: 'outbox_message',
  indexes: [
    { name: 'outbox_message_account', properties: ['account', 'id'] },
    {
      name: 'outbox_message_foreign_header',
      properties: ['account', 'messageIdHeader'],
      where: 'foreign_header',
    },
    {
      // Which messages name an upload; of those that name none nothing is kept.
      name: 'outbox_message_files',
      expression: `create index "outbox_message_files" on "outbox_message" using gin ((content -> 'file_ids') jsonb_path_ops) where content -> 'file_ids' is not null`,
    },
  ],
  properties: {
    /** Is the job_status_id. */
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** The content as the API shows it, without the times. */
    content: p.json<Record<string, unknown>>(),
    /** Two fields of the content for those who send it: reading them there would open all of the text, twice. */
    bcc: p.json().nullable().generated(`(content -> 'bcc') stored`),
    draft: p.json().nullable().generated(`(content -> 'draft') stored`),
    /** `{ from, recipients }` of the SMTP transaction. */
    envelope: p.json<{ from: string; recipients: string[] }>(),
    /** Composed when it was accepted or edited, with its final Message-ID. */
    mime: p.blob(),
    /** With the angle brackets. Fixed when the message is accepted. */
    messageIdHeader: p.text(),
    /** Whether it is the sender's own and does not begin with the id of this row. */
    foreignHeader: p.boolean().default(false),
    /** Recipients that have accepted it: a retry goes to the others only. Lower case. */
    accepted: p.array().default([]),
    /** Recipients that have refused it for good: `{ email, reason }`. */
    refused: p.json<{ email: string; reason: string }[]>().default([]),
    /** What becomes of it when it is found late: `send`, or `skip` beyond `maxLatenessSeconds`. */
    onMissed: p.enum(ON_MISSED).default('send'),
    maxLatenessSeconds: p.integer().nullable(),
    /** What is done when the outcome stays unknown: `resend` or `fail`; null: the server's default. */
    onUnknown: p.enum(ON_UNKNOWN).nullable(),
  },
});

/** Content of an outbox message, and who has it already. */
export class OutboxMessage extends OutboxMessageSchema.class {}
OutboxMessageSchema.setClass(OutboxMessage);
