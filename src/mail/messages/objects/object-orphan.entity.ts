import { defineEntity, p } from '@mikro-orm/core';

const ObjectOrphanSchema = defineEntity({
  name: 'ObjectOrphan',
  tableName: 'object_orphan',
  properties: {
    key: p.text().columnType('text collate "C"').primary(),
    /** When the sweep first found it without a row. */
    seenAt: p.datetime().columnType('timestamptz'),
  },
});

/** An object of the store that no row names. It stays until no backup can name it (ADR 0168). */
export class ObjectOrphan extends ObjectOrphanSchema.class {}
ObjectOrphanSchema.setClass(ObjectOrphan);
