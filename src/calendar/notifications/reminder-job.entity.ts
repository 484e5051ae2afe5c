import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns } from '../../platform/database/base-columns.ts';
import { ROW_CLAIMED, ROW_WAITING } from '../../platform/work/queue/row-state.ts';

const ReminderJobSchema = defineEntity({
  name: 'ReminderJob',
  tableName: 'reminder_job',
  indexes: [
    { name: 'reminder_job_due', properties: ['runAt'], where: `state = ${ROW_WAITING}` },
    { name: 'reminder_job_busy', properties: ['accountId'], where: `state = ${ROW_CLAIMED}` },
  ],
  properties: {
    /** `id` is the id of the reminder. */
    ...queueColumns,
    accountId: p.uuid(),
    /**
     * Look-ups since the outcome became unknown that neither found the reminder nor proved that it
     * was not sent.
     */
    lookUps: p.smallint().default(0),
  },
});

/** Queue row of a reminder that is not settled yet. */
export class ReminderJob extends ReminderJobSchema.class {}
ReminderJobSchema.setClass(ReminderJob);
