import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../accounts/grants/grant.entity.ts';

const MailboxWatchSchema = defineEntity({
  name: 'MailboxWatch',
  tableName: 'mailbox_watch',
  indexes: [
    { name: 'mailbox_watch_worker', properties: ['workerId'] },
    { name: 'mailbox_watch_free', properties: ['retryAt'], where: 'worker_id is null' },
  ],
  properties: {
    account: () => p.oneToOne(Grant).primary().deleteRule('cascade'),
    /** Row of `worker` that holds the watch; one that is gone holds nothing. */
    workerId: p.integer().nullable(),
    /** Since when it has been up; null: it is not. */
    upSince: p.datetime().columnType('timestamptz').nullable(),
    /** When it may be begun (again). */
    retryAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    /** Times it ended since it was last stable. */
    failures: p.smallint().default(0),
  },
});

/** A mailbox to be watched, one process at a time: a lease that lasts as long as its worker's heartbeat. */
export class MailboxWatch extends MailboxWatchSchema.class {}
MailboxWatchSchema.setClass(MailboxWatch);
