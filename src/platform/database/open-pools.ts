import type pg from 'pg';
import { watchWrites } from './health/refused-writes.ts';

/** A pool of database connections of this process. */
export interface OpenPool {
  /** The name that its connections show in `pg_stat_activity`. */
  name: string;
  pool: Pick<pg.Pool, 'totalCount' | 'idleCount' | 'waitingCount' | 'ended'>;
  /** Largest number of connections. */
  max: number;
  /** Statements and transactions that found all connections in use, as `noteUse` counts them. */
  waits: number;
}

const listed = new Set<OpenPool>();

/** Returns the pools of this process that are open. */
export function openPools(): Iterable<OpenPool> {
  for (const one of listed) if (one.pool.ended) listed.delete(one);
  return listed;
}

/**
 * Lists a pool, for metrics, until it has ended. Watches its writes for the readiness check.
 */
export function listPool(name: string, pool: pg.Pool): OpenPool {
  openPools();
  watchWrites(pool);
  const one = { name, pool, max: pool.options.max, waits: 0 };
  listed.add(one);
  return one;
}

/** Call it when a statement or a transaction is about to take a connection. */
export function noteUse(one: OpenPool): void {
  const { pool, max } = one;
  if (pool.idleCount === 0 && pool.totalCount >= max) one.waits += 1;
}
