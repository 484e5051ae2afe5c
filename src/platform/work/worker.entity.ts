import { defineEntity, p } from '@mikro-orm/core';

const WorkerSchema = defineEntity({
  name: 'Worker',
  tableName: 'worker',
  properties: {
    id: p.integer().primary().autoincrement(),
    host: p.text(),
    pid: p.integer(),
    startedAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    /** Heartbeat, once a second. A worker not seen for 8 s is dead and what it held is given back. */
    seenAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** A process that runs due work. */
export class Worker extends WorkerSchema.class {}
WorkerSchema.setClass(Worker);
