import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../database/base-columns.ts';
import { JobStatus } from './job-status.entity.ts';

const JobAttemptSchema = defineEntity({
  name: 'JobAttempt',
  tableName: 'job_attempt',
  indexes: [{ name: 'job_attempt_job', properties: ['job', 'id'] }],
  properties: {
    ...idColumn,
    job: () => p.manyToOne(JobStatus).ref().deleteRule('cascade'),
    attempt: p.smallint(),
    startedAt: p.datetime().columnType('timestamptz'),
    endedAt: p.datetime().columnType('timestamptz'),
    /** `sent`, `not-sent`, `unknown`. */
    outcome: p.text(),
    /** Which way it went, one of `SEND_ROUTES`; null: it did not come to that, or it is no message. */
    route: p.text().nullable(),
    /** How far the exchange with the provider came. */
    phase: p.text().nullable(),
    /** A `ProviderErrorCode`. */
    code: p.text().nullable(),
    /** The provider's own words. */
    detail: p.text().nullable(),
    nextAt: p.datetime().columnType('timestamptz').nullable(),
    /** The retry rule that set `nextAt`, or ended the job. */
    rule: p.text().nullable(),
  },
});

/** Evidence of one attempt of a job; append only. */
export class JobAttempt extends JobAttemptSchema.class {}
JobAttemptSchema.setClass(JobAttempt);
