import { defineEntity, p } from '@mikro-orm/core';
import type { ChangeObject } from './change-log.ts';

const ChangeSchema = defineEntity({
  name: 'Change',
  tableName: 'change',
  indexes: [{ name: 'change_at', properties: ['at'] }],
  properties: {
    // The account is first in the key, and no other index contains the number. No query plan can
    // therefore read the changes of other accounts.
    accountId: p.uuid().primary(),
    /**
     * Assigned when the row is written, not when it commits. Readers therefore take open
     * transactions into account (docs/adr/0036).
     */
    seq: p.bigint('number').primary().autoincrement(),
    /** Name in the API: message, thread, event, calendar, … */
    object: p.text().$type<ChangeObject>(),
    objectId: p.uuid(),
    /** `create`, `modify` or `delete`. */
    event: p.text().$type<'create' | 'modify' | 'delete'>(),
    at: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/**
 * The log of all changes that clients can see. A change is logged in the transaction that makes it.
 */
export class Change extends ChangeSchema.class {}
ChangeSchema.setClass(Change);
