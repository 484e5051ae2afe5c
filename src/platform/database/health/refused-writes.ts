import type pg from 'pg';
import { monotonicMs } from '../../base/time/clock.ts';

/**
 * SQLSTATE of a database that answers and stores nothing: its disk is full. Whether it is
 * read-only, it says itself, and after a failover another server answers. 53400 is no such code:
 * statements meet it when what they sort exceeds `temp_file_limit`, also if they only read.
 */
const DISK_FULL = '53100';

/** For this time a database counts as refusing writes after its last such error. */
const REMEMBERED_MS = 60_000;

interface Refused {
  code: string;
  atMs: number;
}

/** The last refused write, by the address of the database. */
const refusedBy = new Map<string, Refused>();

/** A client of the driver with its connection, which its type leaves out. */
interface Connected {
  connection: { on(event: 'errorMessage', listener: (error: { code?: string }) => void): unknown };
}

/** Remembers from now on whether the database refuses a write of any connection of the pool. */
export function watchWrites(pool: pg.Pool): void {
  const { connectionString = '' } = pool.options;
  pool.on('connect', (client) => {
    const { connection } = client as unknown as Connected;
    connection.on('errorMessage', ({ code = '' }) => {
      if (code === DISK_FULL) refusedBy.set(connectionString, { code, atMs: monotonicMs() });
    });
  });
}

/**
 * Returns why the database has refused a write of this process within the last minute.
 * @param url address of the database, as the pools have it (`connectionTo`)
 * @returns the SQLSTATE, or `null` if it has refused none
 */
export function refusedWrite(url: string): string | null {
  const refused = refusedBy.get(url);
  return refused && monotonicMs() - refused.atMs < REMEMBERED_MS ? refused.code : null;
}
