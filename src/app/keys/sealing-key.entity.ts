import { defineEntity, p } from '@mikro-orm/core';

const SealingKeySchema = defineEntity({
  name: 'SealingKey',
  tableName: 'sealing_key',
  properties: {
    /** Id of the key in ENCRYPTION_KEYS. */
    id: p.text().primary(),
    /** A constant encrypted with the key. Only the same bytes decrypt it. */
    checkValue: p.text(),
    createdAt: p.datetime().columnType('timestamptz'),
    /**
     * When the operator gave up the values encrypted with this key (`carillon keys forget`); `null`
     * if never.
     */
    forgottenAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** A key that secrets of this database were encrypted with (docs/adr/0061). */
export class SealingKey extends SealingKeySchema.class {}
SealingKeySchema.setClass(SealingKey);
