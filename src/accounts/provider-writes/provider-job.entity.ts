import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns, tracedColumns } from '../../platform/database/base-columns.ts';

const ProviderJobSchema = defineEntity({
  name: 'ProviderJob',
  tableName: 'provider_job',
  indexes: [
    { name: 'provider_job_due', properties: ['runAt'], where: 'state = 0' },
    { name: 'provider_job_busy', properties: ['accountId'], where: 'state = 1' },
    { name: 'provider_job_account', properties: ['accountId'] },
    { name: 'provider_job_object', properties: ['objectId'] },
  ],
  properties: {
    /** `id` is the job_status_id. */
    ...queueColumns,
    accountId: p.uuid(),
    action: p.text(),
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
