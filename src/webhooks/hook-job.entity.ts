import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns } from '../database/base-columns.ts';
import { Webhook } from './webhook.entity.ts';

const HookJobSchema = defineEntity({
  name: 'HookJob',
  tableName: 'hook_job',
  uniques: [{ name: 'hook_job_event_webhook', properties: ['eventId', 'webhook'] }],
  indexes: [
    { name: 'hook_job_due', properties: ['runAt'], where: 'state = 0' },
    { name: 'hook_job_busy', properties: ['webhook'], where: 'state = 1' },
    { name: 'hook_job_webhook', properties: ['webhook'] },
  ],
  properties: {
    ...queueColumns,
    eventId: p.uuid(),
    webhook: () => p.manyToOne(Webhook).ref().deleteRule('cascade'),
    giveUpAt: p.datetime().columnType('timestamptz'),
  },
});

/** Queue of webhook deliveries. */
export class HookJob extends HookJobSchema.class {}
HookJobSchema.setClass(HookJob);
