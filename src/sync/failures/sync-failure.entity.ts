import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const SyncFailureSchema = defineEntity({
  name: 'SyncFailure',
  tableName: 'sync_failure',
  properties: {
    account: () => p.manyToOne(Grant).primary().deleteRule('cascade'),
    /** The provider's id of the message. */
    providerId: p.text().primary(),
    reason: p.text(),
    firstAt: p.datetime().columnType('timestamptz'),
    lastAt: p.datetime().columnType('timestamptz'),
    /** Number of failed attempts. */
    times: p.integer().default(1),
    /** When the message is requested from the provider again; `null` if it is not. */
    retryAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/**
 * A message that could not be parsed completely, or on which its provider failed. The mirror stores
 * as much of it as could be read and continues with the next message. Shown to operators.
 */
export class SyncFailure extends SyncFailureSchema.class {}
SyncFailureSchema.setClass(SyncFailure);
