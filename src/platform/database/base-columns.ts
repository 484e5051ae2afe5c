import { p } from '@mikro-orm/core';

/*
 * Columns that tables share. Spread into `defineEntity({ properties: { ...idColumn, … } })`.
 * Instants are `timestamptz` and `Date`; only schemas and mappers know Unix seconds.
 */

/** Primary key: a UUIDv7 made by the application (`newId()`). */
export const idColumn = { id: p.uuid().primary() };

/** When the row was written and last changed, by the caller's clock. */
export const timestampColumns = {
  createdAt: p.datetime().columnType('timestamptz'),
  updatedAt: p.datetime().columnType('timestamptz'),
};

/**
 * A row of a queue: open work only, deleted when finished (design 6). Written and claimed by SQL in the
 * scheduler; the entity exists so that the schema check covers it.
 */
export const queueColumns = {
  ...idColumn,
  /** Next attempt. */
  runAt: p.datetime().columnType('timestamptz'),
  /** The promised time; lateness is the first start minus this. */
  dueAt: p.datetime().columnType('timestamptz'),
  /** Set just before the outside world can see an effect. */
  handoffAt: p.datetime().columnType('timestamptz').nullable(),
  /** Grows with each claim; every later write must name the value it got. */
  fence: p.integer().default(0),
  /** Row of `worker` that holds the claim. */
  workerId: p.integer().nullable(),
  /** Hash of the account modulo 64: the partition key of a later, larger installation. */
  shard: p.smallint().default(0),
  /** 0 waiting, 1 claimed. */
  state: p.smallint().default(0),
  attempt: p.smallint().default(0),
  /** An earlier attempt may have taken effect: look before repeating it. */
  ambiguous: p.boolean().default(false),
  /** Times the holder died with the row in hand. */
  crashes: p.smallint().default(0),
};
