import type pg from 'pg';

/**
 * By then the code that uses the connection has noticed the loss: every statement on a lost
 * connection fails at once.
 */
const GRACE_MS = 500;

/**
 * Returns connections to their pool that were lost in the middle of a transaction. The ORM's query
 * builder does not return them (Kysely 0.29 keeps the connection of a transaction whose rollback
 * fails). Without this, each loss would make the pool smaller by one connection, until it has none.
 */
export function returnLostConnections(pool: pg.Pool): void {
  const inUse = new Set<pg.PoolClient>();
  pool.on('acquire', (client) => inUse.add(client));
  pool.on('release', (_error, client) => inUse.delete(client));
  pool.on('connect', (client) => {
    client.once('end', () => {
      setTimeout(() => {
        if (inUse.has(client)) client.release(true);
      }, GRACE_MS).unref();
    });
  });
}
