import { defineEntity, p } from '@mikro-orm/core';

const ObjectDeletionSchema = defineEntity({
  name: 'ObjectDeletion',
  tableName: 'object_deletion',
  indexes: [{ name: 'object_deletion_due', properties: ['dueAt'] }],
  properties: {
    /** The account is gone, so this is no reference. */
    accountId: p.uuid().primary(),
    /** When the next attempt is due. A worker that deletes moves it on, as its lease. */
    dueAt: p.datetime().columnType('timestamptz'),
  },
});

/** A deleted account whose bodies are still to be removed from the object store (ADR 0168). */
export class ObjectDeletion extends ObjectDeletionSchema.class {}
ObjectDeletionSchema.setClass(ObjectDeletion);
