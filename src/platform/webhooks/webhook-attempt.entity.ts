import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../database/base-columns.ts';

const WebhookAttemptSchema = defineEntity({
  name: 'WebhookAttempt',
  tableName: 'webhook_attempt',
  indexes: [{ name: 'webhook_attempt_webhook', properties: ['webhookId', 'id'] }],
  properties: {
    ...idColumn,
    webhookId: p.uuid(),
    eventId: p.uuid(),
    attempt: p.smallint(),
    startedAt: p.datetime().columnType('timestamptz'),
    tookMs: p.integer(),
    /** HTTP status, null when there was no answer. */
    httpStatus: p.smallint().nullable(),
    /** `delivered`, `retry`, `dropped`. */
    outcome: p.text(),
    /** Why it failed, in words; never the body of the answer. */
    detail: p.text().nullable(),
    nextAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** Evidence of one delivery attempt; append only. */
export class WebhookAttempt extends WebhookAttemptSchema.class {}
WebhookAttemptSchema.setClass(WebhookAttempt);
