import { defineEntity, p } from '@mikro-orm/core';
import { ownedByAccount } from '../database/owner-keys.ts';

const IdempotencyKeySchema = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_key',
  indexes: [{ name: 'idempotency_key_created', properties: ['createdAt'] }],
  properties: {
    account: () => ownedByAccount().primary(),
    key: p.text().primary(),
    /**
     * SHA-256 of method, path, account and body. A different request with the same key is refused.
     */
    fingerprint: p.blob(),
    /**
     * Status of the first response; `null` while the first request is running. `response` then
     * contains what `IdempotencyKeys.begin` stored.
     */
    status: p.smallint().nullable(),
    response: p.json<unknown>().nullable(),
    createdAt: p.datetime().columnType('timestamptz'),
  },
});

/** An `Idempotency-Key` of a client, kept for 24 hours. */
export class IdempotencyKey extends IdempotencyKeySchema.class {}
IdempotencyKeySchema.setClass(IdempotencyKey);
