import { defineEntity, p } from '@mikro-orm/core';

const ChangeSchema = defineEntity({
  name: 'Change',
  tableName: 'change',
  indexes: [{ name: 'change_at', properties: ['at'] }],
  properties: {
    // First in the key, and no other index has the number: no plan reads the changes of everybody else.
    accountId: p.uuid().primary(),
    /** Handed out when it is written, not when it is committed: readers mind who is still writing (docs/adr/0036). */
    seq: p.bigint('number').primary().autoincrement(),
    /** Wire name: message, thread, event, calendar, … */
    object: p.text(),
    objectId: p.uuid(),
    /** `create`, `modify` or `delete`. */
    event: p.text(),
    at: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** The log of everything a client can see change (design 8); written in the transaction that changes it. */
export class Change extends ChangeSchema.class {}
ChangeSchema.setClass(Change);
