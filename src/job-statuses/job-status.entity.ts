import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../platform/database/base-columns.ts';
import { ownedByAccount } from '../platform/database/owner-keys.ts';
import { FORBIDDEN_TRANSITION, JOB_STATES, type SendRoute, type JobAction } from './job-status.ts';

const JobStatusSchema = defineEntity({
  name: 'JobStatus',
  tableName: 'job_status',
  indexes: [{ name: 'job_status_list', properties: ['account', 'id'] }],
  checks: [
    {
      name: 'job_status_reason',
      expression: `(reason is not null) = (status in ('delayed', 'failed', 'cancelled'))`,
    },
  ],
  triggers: [
    {
      // The database enforces JOB_TRANSITIONS for every update.
      name: 'job_status_moves',
      timing: 'before',
      events: ['update'],
      body: [
        `if ${FORBIDDEN_TRANSITION} then raise exception 'job % cannot move from % to %', old.id, old.status, new.status`,
        `using errcode = 'check_violation'; end if; return new`,
      ].join(' '),
    },
  ],
  properties: {
    /** The job_status_id, and the stable part of an outbox message's Message-ID. */
    ...idColumn,
    account: () => ownedByAccount(),
    /** One of `JOB_ACTIONS`. */
    action: p.text().$type<JobAction>(),
    /** Kind of the affected object, such as message, calendar, event. */
    object: p.text(),
    /** The affected object; `null` for an outbox message that has not been sent. */
    objectId: p.uuid().nullable(),
    status: p.enum(JOB_STATES),
    reason: p.text().nullable(),
    sendAt: p.datetime().columnType('timestamptz').nullable(),
    originalSendAt: p.datetime().columnType('timestamptz').nullable(),
    retryLimitAt: p.datetime().columnType('timestamptz').nullable(),
    /** The message in the mailbox; `null` until it is known. */
    messageId: p.uuid().nullable(),
    threadId: p.uuid().nullable(),
    /**
     * Route of the message, one of `SEND_ROUTES`; `null` if it was not sent yet, or if the job is
     * not about a message.
     */
    route: p.text().$type<SendRoute>().nullable(),
    /** Incremented by every edit. Dedupe keys of webhooks contain it. */
    version: p.integer().default(1),
    /** The last edit of an outbox message; `null` if there was none. */
    editedAt: p.datetime().columnType('timestamptz').nullable(),
    createdAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    updatedAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** A job status: what the API shows about one change that is sent to a provider. */
export class JobStatus extends JobStatusSchema.class {}
JobStatusSchema.setClass(JobStatus);
