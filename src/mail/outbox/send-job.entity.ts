import { defineEntity, p } from '@mikro-orm/core';
import { queueColumns, tracedColumns } from '../../platform/database/base-columns.ts';
import { ROW_CLAIMED, ROW_WAITING } from '../../platform/work/queue/row-state.ts';
import type { SendRoute } from '../../job-statuses/job-status.ts';

const SendJobSchema = defineEntity({
  name: 'SendJob',
  tableName: 'send_job',
  indexes: [
    { name: 'send_job_due', properties: ['runAt'], where: `state = ${ROW_WAITING}` },
    { name: 'send_job_busy', properties: ['accountId'], where: `state = ${ROW_CLAIMED}` },
    // The few rows that operators have to know of.
    { name: 'send_job_apart', properties: ['accountId'], where: 'held or crashes > 0' },
    { name: 'send_job_paused', properties: ['accountId', 'id'], where: 'paused' },
  ],
  properties: {
    /** `id` is the job_status_id. */
    ...queueColumns,
    accountId: p.uuid(),
    retryLimitAt: p.datetime().columnType('timestamptz'),
    /** Route of the next attempt: `account` or `relay`. */
    route: p.text().$type<SendRoute>().default('account'),
    /**
     * Whether the message is on hold, because its account was moved to another mailbox. It is not
     * sent until it gets a new `send_at` (ADR 0056).
     */
    held: p.boolean().default(false),
    /**
     * Whether the message waits because an operator paused its account or application. It is due
     * again when sending is resumed (ADR 0090).
     */
    paused: p.boolean().default(false),
    /** Failed attempts over this route. */
    failures: p.smallint().default(0),
    /**
     * Look-ups since the outcome became unknown that neither found the message nor proved that it
     * was not sent.
     */
    lookUps: p.smallint().default(0),
    /**
     * Number of the attempt that may send again without a look-up, because the outcome stayed
     * unknown (ADR 0019); `null` if none.
     */
    resendAttempt: p.smallint().nullable(),
    /**
     * `{ attempt, emails }`: recipients that the server had deferred when an outcome became
     * unknown, and the last attempt that left it unknown; `null` if none.
     */
    deferred: p.json<{ attempt: number; emails: string[] }>().fieldName('put_off').nullable(),
    /**
     * Whether the row is `ambiguous` only because the database failed over: no attempt of unknown
     * outcome is known (ADR 0139).
     */
    attemptAssumed: p.boolean().default(false),
    ...tracedColumns,
  },
});

/** Queue row of a message to be sent. */
export class SendJob extends SendJobSchema.class {}
SendJobSchema.setClass(SendJob);
