import { p } from '@mikro-orm/core';

/*
 * Columns that many tables share. Spread them into `defineEntity({ properties: { ...idColumn, … }
 * })`. Instants are `timestamptz` and `Date`; only schemas and mappers use Unix seconds.
 */

/** Primary key: a UUIDv7 that the application creates (`newId()`). */
export const idColumn = { id: p.uuid().primary() };

/** When the row was created and last changed, by the caller's clock. */
export const timestampColumns = {
  createdAt: p.datetime().columnType('timestamptz'),
  updatedAt: p.datetime().columnType('timestamptz'),
};

/**
 * A queue row: open work that is deleted when finished. The engine (`platform/work`) claims and
 * settles it with SQL; the entity exists so that the schema check covers the table.
 */
export const queueColumns = {
  ...idColumn,
  /** When the next attempt is due. */
  runAt: p.datetime().columnType('timestamptz'),
  /** The promised time. Lateness is the first start minus this time. */
  dueAt: p.datetime().columnType('timestamptz'),
  /** Hand-off marker: set right before the outside may see an effect. */
  handoffAt: p.datetime().columnType('timestamptz').nullable(),
  /** Fencing token: grows with each claim. Every later write must name the value of its claim. */
  fence: p.integer().default(0),
  /** Id of the row in `worker` that has claimed this row. */
  workerId: p.integer().nullable(),
  /** `ROW_WAITING` or `ROW_CLAIMED` (`work/queue/row-state.ts`). */
  state: p.smallint().default(0),
  attempt: p.smallint().default(0),
  /** Whether an earlier attempt may have taken effect, so that a look-up has to come first. */
  ambiguous: p.boolean().default(false),
  /** How many workers died while they had claimed the row. */
  crashes: p.smallint().default(0),
};

/** For queue rows whose work belongs to the trace of the request that queued it. */
export const tracedColumns = {
  /**
   * Span under which the row was queued (W3C Trace Context); `null` if nobody listened
   * (docs/tracing.md).
   */
  traceparent: p.text().nullable(),
};
