import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../database/base-columns.ts';

const WebhookAttemptSchema = defineEntity({
  name: 'WebhookAttempt',
  tableName: 'webhook_attempt',
  indexes: [
    { name: 'webhook_attempt_webhook', properties: ['webhookId', 'id'] },
    // The timeline of a job shows the deliveries of its events.
    { name: 'webhook_attempt_event', properties: ['eventId'] },
  ],
  properties: {
    ...idColumn,
    webhookId: p.uuid(),
    eventId: p.uuid(),
    attempt: p.smallint(),
    startedAt: p.datetime().columnType('timestamptz'),
    tookMs: p.integer(),
    /** HTTP status; `null` if there was no response. */
    httpStatus: p.smallint().nullable(),
    /** `delivered`, `retry`, `dropped`. */
    outcome: p.text(),
    /** Why the attempt failed; never contains the response body. */
    detail: p.text().nullable(),
    /**
     * Beginning of the response body, made safe to show. Only operators may see it: an application
     * could read the answers of foreign servers with it (ADR 0010).
     */
    response: p.text().nullable(),
    nextAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** One delivery attempt; rows are only added. */
export class WebhookAttempt extends WebhookAttemptSchema.class {}
WebhookAttemptSchema.setClass(WebhookAttempt);
