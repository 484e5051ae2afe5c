import { defineEntity, p } from '@mikro-orm/core';
import { Webhook } from '../webhook.entity.ts';

const WebhookPositionSchema = defineEntity({
  name: 'WebhookPosition',
  tableName: 'webhook_position',
  properties: {
    webhook: () => p.manyToOne(Webhook).ref().primary().deleteRule('cascade'),
    /** Number of the event up to which everything is acknowledged. */
    seq: p.bigint('number'),
    /** When that event was stored. Distinguishes it from another one after a database restore. */
    eventAt: p.datetime().columnType('timestamptz'),
    acknowledgedAt: p.datetime().columnType('timestamptz'),
  },
});

/** How far the owner of a webhook has acknowledged the events of its feed. */
export class WebhookPosition extends WebhookPositionSchema.class {}
WebhookPositionSchema.setClass(WebhookPosition);
