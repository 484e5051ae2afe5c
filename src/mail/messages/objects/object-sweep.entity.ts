import { defineEntity, p } from '@mikro-orm/core';

const ObjectSweepSchema = defineEntity({
  name: 'ObjectSweep',
  tableName: 'object_sweep',
  properties: {
    name: p.text().primary(),
    /** The last key that was examined; `''` before the first. */
    afterKey: p.text(),
    /** When the next page is due. A worker that examines a page moves it on, as its lease. */
    dueAt: p.datetime().columnType('timestamptz'),
  },
});

/** How far the sweep of the object store has come. The table has one row (ADR 0168). */
export class ObjectSweep extends ObjectSweepSchema.class {}
ObjectSweepSchema.setClass(ObjectSweep);
