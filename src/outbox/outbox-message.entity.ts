import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../database/base-columns.ts';
import { Grant } from '../grants/grant.entity.ts';

const OutboxMessageSchema = defineEntity({
  name: 'OutboxMessage',
  tableName: 'outbox_message',
  indexes: [{ name: 'outbox_message_account', properties: ['account', 'id'] }],
  properties: {
    /** Is the job_status_id. */
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** The content as the API shows it, without the times. */
    content: p.json<Record<string, unknown>>(),
    /** `{ from, recipients }` of the SMTP transaction. */
    envelope: p.json<{ from: string; recipients: string[] }>(),
    /** Composed when it was accepted or edited, with its final Message-ID. */
    mime: p.blob(),
    /** With the angle brackets. Fixed when the message is accepted. */
    messageIdHeader: p.text(),
  },
});

/** Content of an outbox message; the scheduler never writes it. */
export class OutboxMessage extends OutboxMessageSchema.class {}
OutboxMessageSchema.setClass(OutboxMessage);
