import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../../accounts/grants/grant.entity.ts';

const ObjectUploadSchema = defineEntity({
  name: 'ObjectUpload',
  tableName: 'object_upload',
  indexes: [{ name: 'object_upload_due', properties: ['dueAt'] }],
  primaryKeys: ['account', 'messageId'],
  properties: {
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade').primary(),
    /** The message may have been deleted. */
    messageId: p.uuid().primary(),
    /** When the next attempt is due. A worker that stores the body moves it on, as its lease. */
    dueAt: p.datetime().columnType('timestamptz'),
  },
});

/** A body that is to move from the database to the object store (ADR 0168). */
export class ObjectUpload extends ObjectUploadSchema.class {}
ObjectUploadSchema.setClass(ObjectUpload);
