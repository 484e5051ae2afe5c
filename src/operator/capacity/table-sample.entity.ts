import { defineEntity, p } from '@mikro-orm/core';

const TableSampleSchema = defineEntity({
  name: 'TableSample',
  tableName: 'table_sample',
  properties: {
    /** Day in UTC. */
    day: p.date().primary(),
    /** Name of the table; `*` for the whole database. */
    tableName: p.text().primary(),
    takenAt: p.datetime().columnType('timestamptz'),
    bytes: p.bigint(),
    /** PostgreSQL's estimate; `null` if the table was never analyzed, and for the database. */
    estimatedRows: p.bigint().nullable(),
  },
});

/** The size of a table on one day, to compute its growth. */
export class TableSample extends TableSampleSchema.class {}
TableSampleSchema.setClass(TableSample);
