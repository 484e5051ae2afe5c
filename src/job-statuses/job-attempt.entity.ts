import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../platform/database/base-columns.ts';
import { JobStatus } from './job-status.entity.ts';
import type { SendRoute } from './job-status.ts';
import type { SendPhase, ProviderErrorCode } from '../platform/base/errors/provider-error.ts';

const JobAttemptSchema = defineEntity({
  name: 'JobAttempt',
  tableName: 'job_attempt',
  indexes: [
    { name: 'job_attempt_job', properties: ['job', 'id'] },
    {
      // Finds failed jobs. An index of job_status by status would make every change of a status
      // write all indexes of the table (ADR 0089).
      name: 'job_attempt_failed',
      properties: ['job'],
      where: `next_at is null and outcome <> 'sent'`,
    },
  ],
  properties: {
    ...idColumn,
    job: () => p.manyToOne(JobStatus).ref().deleteRule('cascade'),
    attempt: p.smallint(),
    startedAt: p.datetime().columnType('timestamptz'),
    endedAt: p.datetime().columnType('timestamptz'),
    /** `sent`, `not-sent`, `unknown`. */
    outcome: p.text().$type<'sent' | 'not-sent' | 'unknown'>(),
    /**
     * Route of the message, one of `SEND_ROUTES`; `null` if sending did not begin, or if the job is
     * not about a message.
     */
    route: p.text().$type<SendRoute>().nullable(),
    /** The step that the exchange with the provider reached. */
    phase: p.text().$type<SendPhase>().nullable(),
    /** A `ProviderErrorCode`. */
    code: p.text().$type<ProviderErrorCode>().nullable(),
    /** Error text of the provider. */
    detail: p.text().nullable(),
    /** Host, port and protocol of the server that was asked; `null` if none was. */
    server: p.text().nullable(),
    nextAt: p.datetime().columnType('timestamptz').nullable(),
    /** Name of the retry rule that set `nextAt` or ended the job. */
    rule: p.text().nullable(),
    /** `null` in rows of earlier releases that are not filled yet (ADR 0170). */
    account: p.uuid().fieldName('account_id').nullable(),
  },
});

/** One attempt in the timeline of a job status; rows are only added. */
export class JobAttempt extends JobAttemptSchema.class {}
JobAttemptSchema.setClass(JobAttempt);
