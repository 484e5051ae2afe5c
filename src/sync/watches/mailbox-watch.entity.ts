import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const MailboxWatchSchema = defineEntity({
  name: 'MailboxWatch',
  tableName: 'mailbox_watch',
  indexes: [
    { name: 'mailbox_watch_worker', properties: ['workerId'] },
    { name: 'mailbox_watch_free', properties: ['retryAt'], where: 'worker_id is null' },
  ],
  properties: {
    account: () => p.oneToOne(Grant).primary().deleteRule('cascade'),
    /** Row of `worker` that has leased the watch. The lease ends when that worker is removed. */
    workerId: p.integer().nullable(),
    /** Time at which the watch was established; `null` while it is not. */
    upSince: p.datetime().columnType('timestamptz').nullable(),
    /** Earliest time of the next attempt to start the watch. */
    retryAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    /** Times the watch has ended since it was last stable. */
    failures: p.smallint().default(0),
  },
});

/**
 * The watch of one mailbox. One process at a time leases it; the lease lasts as long as the
 * worker's heartbeat.
 */
export class MailboxWatch extends MailboxWatchSchema.class {}
MailboxWatchSchema.setClass(MailboxWatch);
