import { defineEntity, p } from '@mikro-orm/core';

const InstanceSchema = defineEntity({
  name: 'Instance',
  tableName: 'instance',
  checks: [{ name: 'instance_one', expression: 'id = 1' }],
  properties: {
    /** Always 1: a database belongs to one installation. */
    id: p.smallint().primary().autoincrement(false),
    /** Where the database was when it was confirmed: server, database, address, name of the installation. */
    place: p.json<Record<string, string>>(),
    confirmedAt: p.datetime().columnType('timestamptz'),
  },
});

/** Which installation may act on what this database holds: a restored copy must not send. */
export class Instance extends InstanceSchema.class {}
InstanceSchema.setClass(Instance);
