import { defineEntity, p } from '@mikro-orm/core';

const TableMoveSchema = defineEntity({
  name: 'TableMove',
  tableName: 'table_move',
  properties: {
    /** Name of the new table. */
    name: p.text().primary(),
    /** Name of the table whose rows are moved. */
    oldTable: p.text(),
    /** When a migration added the move. Processes that started earlier do not know it. */
    addedAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    /**
     * From then on new rows are written to the new table, and old ones are moved; `null` until an
     * operator starts the moves.
     */
    beganAt: p.datetime().columnType('timestamptz').nullable(),
    /** When the old table was first found empty. */
    finishedAt: p.datetime().columnType('timestamptz').nullable(),
    /** Rows that were moved. */
    moved: p.bigint('number').default(0),
  },
});

/** Rows of a large table that workers move to another table while the server runs (ADR 0166). */
export class TableMove extends TableMoveSchema.class {}
TableMoveSchema.setClass(TableMove);
