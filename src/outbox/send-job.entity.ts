import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns } from '../database/base-columns.ts';

const SendJobSchema = defineEntity({
  name: 'SendJob',
  tableName: 'send_job',
  indexes: [
    { name: 'send_job_due', properties: ['runAt'], where: 'state = 0' },
    { name: 'send_job_busy', properties: ['accountId'], where: 'state = 1' },
  ],
  properties: {
    /** `id` is the job_status_id. */
    ...queueColumns,
    accountId: p.uuid(),
    retryLimitAt: p.datetime().columnType('timestamptz'),
  },
});

/** Queue of mail to be sent. */
export class SendJob extends SendJobSchema.class {}
SendJobSchema.setClass(SendJob);
