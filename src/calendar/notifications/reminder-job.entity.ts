import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns } from '../../platform/database/base-columns.ts';

const ReminderJobSchema = defineEntity({
  name: 'ReminderJob',
  tableName: 'reminder_job',
  indexes: [
    { name: 'reminder_job_due', properties: ['runAt'], where: 'state = 0' },
    { name: 'reminder_job_busy', properties: ['accountId'], where: 'state = 1' },
  ],
  properties: {
    /** `id` is the reminder's. */
    ...queueColumns,
    accountId: p.uuid(),
  },
});

/** Queue of reminders that have not fired. */
export class ReminderJob extends ReminderJobSchema.class {}
ReminderJobSchema.setClass(ReminderJob);
