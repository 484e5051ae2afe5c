import type pg from 'pg';

/** Whoever holds a connection has had its last word on it by then: on a lost one every statement fails at once. */
const GRACE_MS = 500;

/**
 * Gives connections that were lost in the middle of a transaction back to their pool. The ORM's query builder does
 * not (Kysely 0.29: a transaction whose rollback fails keeps its connection): without this each loss would leave the
 * pool one connection smaller, until it has none.
 */
export function returnLostConnections(pool: pg.Pool): void {
  const held = new Set<pg.PoolClient>();
  pool.on('acquire', (client) => held.add(client));
  pool.on('release', (_error, client) => held.delete(client));
  pool.on('connect', (client) => {
    client.once('end', () => {
      setTimeout(() => {
        if (held.has(client)) client.release(true);
      }, GRACE_MS).unref();
    });
  });
}
