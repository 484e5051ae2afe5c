import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns } from '../../platform/database/base-columns.ts';

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
    /** Which way the next attempt goes: `account` or `relay`. */
    route: p.text().default('account'),
    /** Its account was moved to another mailbox since: nothing is sent until it gets a new time (ADR 0056). */
    held: p.boolean().default(false),
    /** Attempts over this route that have failed. */
    failures: p.smallint().default(0),
    /** Look-ups of the present unknown outcome that proved nothing. */
    lookUps: p.smallint().default(0),
    /** The attempt that sends again without a look-up, because an outcome stayed unknown (ADR 0019). Null: none. */
    resendAttempt: p.smallint().nullable(),
    /**
     * `{ attempt, emails }`: recipients the server had put off when the outcome of an attempt became unknown, and the
     * last attempt that left this doubt open. Null: none.
     */
    putOff: p.json<{ attempt: number; emails: string[] }>().nullable(),
  },
});

/** Queue of mail to be sent. */
export class SendJob extends SendJobSchema.class {}
SendJobSchema.setClass(SendJob);
