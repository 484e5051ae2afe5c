import { defineEntity, p } from '@mikro-orm/core';

const FailedAttemptSchema = defineEntity({
  name: 'FailedAttempt',
  tableName: 'failed_attempt',
  indexes: [{ name: 'failed_attempt_ends', properties: ['endsAt'] }],
  properties: {
    /** SHA-256 of what is counted: a client, an account, or both. Neither addresses nor names are stored. */
    key: p.blob().primary(),
    failures: p.integer(),
    /** When counting begins anew. */
    endsAt: p.datetime().columnType('timestamptz'),
  },
});

/** Attempts to sign in that failed, counted by all processes together. */
export class FailedAttempt extends FailedAttemptSchema.class {}
FailedAttemptSchema.setClass(FailedAttempt);
