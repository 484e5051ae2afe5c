import { defineEntity, p } from '@mikro-orm/core';

const ProviderBucketSchema = defineEntity({
  name: 'ProviderBucket',
  tableName: 'provider_bucket',
  properties: {
    /** The connector's name for what the provider limits, for example one mailbox. */
    key: p.text().primary(),
    /** Units that were left at `refilledAt`. */
    tokens: p.double(),
    refilledAt: p.datetime().columnType('timestamptz'),
    /** Nothing may be taken before this time. `null` if the provider named no such time. */
    blockedUntil: p.datetime().columnType('timestamptz').nullable(),
    /** From this time on, the row says no more than a missing row: the bucket is full. */
    fullAt: p.datetime().columnType('timestamptz'),
  },
});

/** A token bucket for one limit of a provider, shared by all processes. */
export class ProviderBucket extends ProviderBucketSchema.class {}
ProviderBucketSchema.setClass(ProviderBucket);
