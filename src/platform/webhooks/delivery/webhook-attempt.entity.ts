import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../database/base-columns.ts';

const WebhookAttemptSchema = defineEntity({
  name: 'WebhookAttempt',
  tableName: 'webhook_attempt',
  indexes: [
    { name: 'webhook_attempt_webhook', properties: ['webhookId', 'id'] },
    // The timeline of a job shows the deliveries of its events.
    { name: 'webhook_attempt_event', properties: ['eventId'] },
    { name: 'webhook_attempt_batch', properties: ['accountId', 'lastSeq'], where: 'deltas > 1' },
  ],
  properties: {
    ...idColumn,
    webhookId: p.uuid(),
    /** The first event of the request. */
    eventId: p.uuid(),
    /** Account of the events; `null`, as the numbers: the event has none (`WebhookEvent`). */
    accountId: p.uuid().nullable(),
    /** How many events the request had. */
    deltas: p.smallint().default(1),
    firstSeq: p.bigint('number').nullable(),
    lastSeq: p.bigint('number').nullable(),
    attempt: p.smallint(),
    startedAt: p.datetime().columnType('timestamptz'),
    tookMs: p.integer(),
    /** HTTP status; `null` if there was no response. */
    httpStatus: p.smallint().nullable(),
    /** `delivered`, `retry`, `dropped`. */
    outcome: p.text().$type<'delivered' | 'retry' | 'dropped'>(),
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

/** One request to a webhook; rows are only added. */
export class WebhookAttempt extends WebhookAttemptSchema.class {}
WebhookAttemptSchema.setClass(WebhookAttempt);
