import { defineEntity, p } from '@mikro-orm/core';

const ChangeSchema = defineEntity({
  name: 'Change',
  tableName: 'change',
  indexes: [
    { name: 'change_account', properties: ['accountId', 'seq'] },
    { name: 'change_at', properties: ['at'] },
  ],
  properties: {
    seq: p.bigint('number').primary().autoincrement(),
    accountId: p.uuid(),
    /** Wire name: message, thread, event, calendar, … */
    object: p.text(),
    objectId: p.uuid(),
    /** `create`, `modify` or `delete`. */
    event: p.text(),
    /** Transaction that wrote it: readers stay below the oldest one still running. */
    xid: p.type('xid8').$type<string>().defaultRaw('pg_current_xact_id()'),
    at: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** The log of everything a client can see change (design 8); written in the transaction that changes it. */
export class Change extends ChangeSchema.class {}
ChangeSchema.setClass(Change);
