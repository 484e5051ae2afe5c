import { defineEntity, p } from '@mikro-orm/core';

const WorkerSchema = defineEntity({
  name: 'Worker',
  tableName: 'worker',
  properties: {
    id: p.integer().primary().autoincrement(),
    host: p.text(),
    pid: p.integer(),
    /** Version of its release; `null` for releases that did not announce it. */
    release: p.text().nullable(),
    startedAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    /**
     * Time of the last heartbeat. Heartbeats are sent each second. A worker without a heartbeat for
     * 8 s is dead, and its claims are given back.
     */
    seenAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    /**
     * When its process registered again under another id, because the database failed over. The row
     * stays until the claims under this id are given back. It is no worker that died.
     */
    movedAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** A process that runs due work. */
export class Worker extends WorkerSchema.class {}
WorkerSchema.setClass(Worker);
