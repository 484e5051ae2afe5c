import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns, tracedColumns } from '../database/base-columns.ts';

const HookJobSchema = defineEntity({
  name: 'WebhookDelivery',
  tableName: 'hook_job',
  uniques: [{ name: 'hook_job_webhook_event', properties: ['webhookId', 'eventId'] }],
  indexes: [
    { name: 'hook_job_due', properties: ['runAt'], where: 'state = 0' },
    { name: 'hook_job_busy', properties: ['webhookId'], where: 'state = 1' },
  ],
  properties: {
    ...queueColumns,
    eventId: p.uuid(),
    /**
     * No foreign key: checking it would be a considerable part of the cost of inserting the row. A
     * delivery whose webhook was deleted is dropped.
     */
    webhookId: p.uuid(),
    giveUpAt: p.datetime().columnType('timestamptz'),
    ...tracedColumns,
  },
});

/** Queue row of one webhook delivery. */
export class WebhookDelivery extends HookJobSchema.class {}
HookJobSchema.setClass(WebhookDelivery);
