import { defineEntity, p } from '@mikro-orm/core';

const SealingKeySchema = defineEntity({
  name: 'SealingKey',
  tableName: 'sealing_key',
  properties: {
    /** Id of the key in ENCRYPTION_KEYS. */
    id: p.text().primary(),
    /** A constant sealed with the key: it opens only with the same bytes. */
    checkValue: p.text(),
    createdAt: p.datetime().columnType('timestamptz'),
    /** When the operator gave up what is sealed with it (`carillon keys forget`); null: never. */
    forgottenAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** A key that secrets of this database were sealed with (docs/adr/0061). */
export class SealingKey extends SealingKeySchema.class {}
SealingKeySchema.setClass(SealingKey);
