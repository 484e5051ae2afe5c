import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns } from '../database/base-columns.ts';
import { Grant } from '../grants/grant.entity.ts';

const SyncJobSchema = defineEntity({
  name: 'SyncJob',
  tableName: 'sync_job',
  indexes: [
    { name: 'sync_job_due', properties: ['runAt'], where: 'state = 0' },
    { name: 'sync_job_busy', properties: ['account'], where: 'state = 1' },
  ],
  properties: {
    ...queueColumns,
    account: () => p.manyToOne(Grant).ref().unique().deleteRule('cascade'),
    /** How far the mirror has come, in the provider's own terms. */
    cursor: p.text().nullable(),
    /** When the mirror first showed the mailbox' present; until then it holds what was there before the account. */
    currentSince: p.datetime().columnType('timestamptz').nullable(),
    /** Asked to run again while it was running. */
    again: p.boolean().default(false),
    /** Consecutive failures. */
    failures: p.smallint().default(0),
  },
});

/** One row per account whose mailbox is mirrored: when to look again, and from where. Never deleted on finish. */
export class SyncJob extends SyncJobSchema.class {}
SyncJobSchema.setClass(SyncJob);
