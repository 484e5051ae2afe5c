import { defineEntity, p } from '@mikro-orm/core';

const FailedAttemptSchema = defineEntity({
  name: 'FailedAttempt',
  tableName: 'failed_attempt',
  indexes: [{ name: 'failed_attempt_ends', properties: ['endsAt'] }],
  properties: {
    /**
     * SHA-256 of the counted subject: a client, an account, or a pair of both. Addresses and names
     * are not stored.
     */
    key: p.blob().primary(),
    failures: p.integer(),
    /** End of the period; the count then starts again at 0. */
    endsAt: p.datetime().columnType('timestamptz'),
  },
});

/** Number of failed attempts to sign in within a period, shared by all processes. */
export class FailedAttempt extends FailedAttemptSchema.class {}
FailedAttemptSchema.setClass(FailedAttempt);
