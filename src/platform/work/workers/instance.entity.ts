import { defineEntity, p } from '@mikro-orm/core';
import type { Failover } from './failover.ts';

const InstanceSchema = defineEntity({
  name: 'Instance',
  tableName: 'instance',
  checks: [{ name: 'instance_one', expression: 'id = 1' }],
  properties: {
    /** Always 1: a database belongs to one installation. */
    id: p.smallint().primary().autoincrement(false),
    /**
     * The identity of the database when it was confirmed: server, database, address, and name of
     * the installation.
     */
    place: p.json<Record<string, string>>(),
    confirmedAt: p.datetime().columnType('timestamptz'),
    /**
     * Timeline of the database server; `null` if no worker could read it. A higher one on the
     * server means that a standby was promoted (docs/adr/0127).
     */
    timeline: p.integer().nullable(),
    /** Whether commits wait for a standby, as the last heartbeat saw it. */
    synchronous: p.boolean().default(false),
    /**
     * The identity of a worker that refuses the database, and when it last did; `null` if none has
     * refused it since it was confirmed.
     */
    refusedPlace: p.json<Record<string, string>>().nullable(),
    refusedAt: p.datetime().columnType('timestamptz').nullable(),
    /** The last failover; `null` if there was none. */
    failover: p.json<Failover>().nullable(),
    /**
     * When rows were last marked for workers that may still use the old server; `null` once that
     * has ended, and if nothing had to be marked.
     */
    stragglersMarkedAt: p.datetime().columnType('timestamptz').nullable(),
    /** When a worker last saw a connected standby, to the day; `null` if none has seen one. */
    standbySeenAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/**
 * The installation that may work on this database. A restored copy must not send (docs/adr/0022).
 */
export class Instance extends InstanceSchema.class {}
InstanceSchema.setClass(Instance);
