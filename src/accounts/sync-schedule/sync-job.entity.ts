import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns } from '../../platform/database/base-columns.ts';
import { ownedByAccount } from '../../platform/database/owner-keys.ts';

const SyncJobSchema = defineEntity({
  name: 'SyncJob',
  tableName: 'sync_job',
  indexes: [
    { name: 'sync_job_due', properties: ['runAt'], where: 'state = 0' },
    { name: 'sync_job_busy', properties: ['account'], where: 'state = 1' },
  ],
  properties: {
    ...queueColumns,
    account: () => ownedByAccount().unique(),
    /** How far the mirror has come, in the provider's own terms. */
    cursor: p.text().nullable(),
    /** When the mirror first showed the mailbox' present; until then it holds what was there before the account. */
    currentSince: p.datetime().columnType('timestamptz').nullable(),
    /** When the calendars are to be looked at again; null: at the next look at the mailbox. */
    calendarsAt: p.datetime().columnType('timestamptz').nullable(),
    /** The same of the address book; how far its mirror has come, and when it was complete for the first time. */
    contactsAt: p.datetime().columnType('timestamptz').nullable(),
    contactsCursor: p.text().nullable(),
    contactsSince: p.datetime().columnType('timestamptz').nullable(),
    /** Asked to run again while it was running. */
    again: p.boolean().default(false),
    /** Failures since the mailbox was last stable: they make the waits after the next one longer. */
    failures: p.smallint().default(0),
    /** Since when every look has been well; null: the last one failed, or nothing ever has. */
    wellSince: p.datetime().columnType('timestamptz').nullable(),
    /** Provider's id of the message that is being read, where a worker has died with this row in hand. */
    reading: p.text().nullable(),
  },
});

/** One row per account whose mailbox is mirrored: when to look again, and from where. Never deleted on finish. */
export class SyncJob extends SyncJobSchema.class {}
SyncJobSchema.setClass(SyncJob);
