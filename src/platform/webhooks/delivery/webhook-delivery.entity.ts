import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns, tracedColumns } from '../../database/base-columns.ts';
import { ROW_CLAIMED, ROW_WAITING } from '../../work/queue/row-state.ts';

const HookJobSchema = defineEntity({
  name: 'WebhookDelivery',
  tableName: 'hook_job',
  uniques: [{ name: 'hook_job_webhook_event', properties: ['webhookId', 'eventId'] }],
  indexes: [
    { name: 'hook_job_due', properties: ['runAt'], where: `state = ${ROW_WAITING}` },
    { name: 'hook_job_busy', properties: ['webhookId'], where: `state = ${ROW_CLAIMED}` },
    {
      name: 'hook_job_several',
      properties: ['webhookId', 'eventId'],
      where: 'more_events is not null',
    },
  ],
  properties: {
    ...queueColumns,
    /** The only event, or the first one: the one with the lowest id. */
    eventId: p.uuid(),
    /**
     * Further events, delivered after it in this order. Only rows of first attempts have them: an
     * event that has to be delivered again gets a row of its own.
     */
    moreEvents: p.array().columnType('uuid[]').nullable(),
    /**
     * No foreign key: checking it would be a considerable part of the cost of inserting the row. A
     * delivery whose webhook was deleted is dropped.
     */
    webhookId: p.uuid(),
    giveUpAt: p.datetime().columnType('timestamptz'),
    ...tracedColumns,
  },
});

/** Queue row of deliveries to one webhook: one, or several that became due together. */
export class WebhookDelivery extends HookJobSchema.class {}
HookJobSchema.setClass(WebhookDelivery);
