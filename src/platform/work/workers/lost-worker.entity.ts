import { defineEntity, p } from '@mikro-orm/core';

const LostWorkerSchema = defineEntity({
  name: 'LostWorker',
  tableName: 'lost_worker',
  indexes: [{ properties: ['lostAt'] }],
  properties: {
    /** Id that it had in `worker`. */
    id: p.integer().primary().autoincrement(false),
    host: p.text(),
    pid: p.integer(),
    startedAt: p.datetime().columnType('timestamptz'),
    /** Time of its last heartbeat. */
    seenAt: p.datetime().columnType('timestamptz'),
    /** When another worker declared it dead. */
    lostAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** A worker that was declared dead, because it sent no heartbeat for 8 s. Kept for a day. */
export class LostWorker extends LostWorkerSchema.class {}
LostWorkerSchema.setClass(LostWorker);
