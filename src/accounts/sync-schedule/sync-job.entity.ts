import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns } from '../../platform/database/base-columns.ts';
import { ownedByAccount } from '../../platform/database/owner-keys.ts';
import { ROW_CLAIMED, ROW_WAITING } from '../../platform/work/queue/row-state.ts';

const SyncJobSchema = defineEntity({
  name: 'SyncJob',
  tableName: 'sync_job',
  indexes: [
    { name: 'sync_job_due', properties: ['runAt'], where: `state = ${ROW_WAITING}` },
    { name: 'sync_job_busy', properties: ['account'], where: `state = ${ROW_CLAIMED}` },
    {
      name: 'sync_job_failing',
      properties: ['account'],
      where: 'failures > 0 and well_since is null',
    },
  ],
  properties: {
    ...queueColumns,
    account: () => ownedByAccount().unique(),
    /** Position of the mirror, in the provider's own format. */
    cursor: p.text().nullable(),
    /**
     * When the mirror first caught up with the mailbox. Before that, it is still reading what was
     * there when the account was connected.
     */
    currentSince: p.datetime().columnType('timestamptz').nullable(),
    /** When the calendars are next synced; `null` for the next sync pass of the mailbox. */
    calendarsAt: p.datetime().columnType('timestamptz').nullable(),
    /**
     * The same for the address book, followed by the position of its mirror and the time when it
     * was first complete.
     */
    contactsAt: p.datetime().columnType('timestamptz').nullable(),
    contactsCursor: p.text().nullable(),
    contactsSince: p.datetime().columnType('timestamptz').nullable(),
    /**
     * When the account last changed, or a sync pass was last requested. The longer ago, the longer
     * the account waits for its next poll.
     */
    activeAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    /** True if another sync pass was requested while one was running. */
    again: p.boolean().default(false),
    /**
     * Failures since the mailbox was last stable. The more there are, the longer the wait after the
     * next one.
     */
    failures: p.smallint().default(0),
    /**
     * Start of the current series of successful sync passes; `null` if the last one failed or there
     * was none yet.
     */
    wellSince: p.datetime().columnType('timestamptz').nullable(),
    /** Why the last failed pass has failed, and the server that it asked, for operators. */
    failedReason: p.text().nullable(),
    failedServer: p.text().nullable(),
    /**
     * Provider's id of the message that is being read, if a worker has died while it had claimed
     * this row.
     */
    reading: p.text().nullable(),
  },
});

/**
 * One row per account whose mailbox is mirrored: when the next sync pass is due, and where it
 * starts. The row stays after a sync pass.
 */
export class SyncJob extends SyncJobSchema.class {}
SyncJobSchema.setClass(SyncJob);
