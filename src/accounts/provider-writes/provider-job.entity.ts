import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns, tracedColumns } from '../../platform/database/base-columns.ts';
import { ROW_CLAIMED, ROW_WAITING } from '../../platform/work/queue/row-state.ts';
import type { JobAction } from '../../job-statuses/job-status.ts';

const ProviderJobSchema = defineEntity({
  name: 'ProviderJob',
  tableName: 'provider_job',
  indexes: [
    { name: 'provider_job_due', properties: ['runAt'], where: `state = ${ROW_WAITING}` },
    { name: 'provider_job_busy', properties: ['accountId'], where: `state = ${ROW_CLAIMED}` },
    { name: 'provider_job_account', properties: ['accountId'] },
    { name: 'provider_job_object', properties: ['objectId'] },
  ],
  properties: {
    /** `id` is the job_status_id. */
    ...queueColumns,
    accountId: p.uuid(),
    action: p.text().$type<JobAction>(),
    objectId: p.uuid(),
    /**
     * Values that the provider needs and the mirror no longer has, for example the provider's id of
     * a deleted object.
     */
    payload: p.json<Record<string, unknown>>(),
    ...tracedColumns,
  },
});

/** Queue of provider writes other than sending mail. */
export class ProviderJob extends ProviderJobSchema.class {}
ProviderJobSchema.setClass(ProviderJob);
