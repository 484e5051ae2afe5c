import { defineEntity, p } from '@mikro-orm/core';

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
  },
});

/**
 * The installation that may work on this database. A restored copy must not send (docs/adr/0022).
 */
export class Instance extends InstanceSchema.class {}
InstanceSchema.setClass(Instance);
