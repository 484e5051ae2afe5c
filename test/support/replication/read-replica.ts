import { StandbyReads } from '../../../src/platform/database/replicas/standby-reads.ts';
import { SqlPool } from '../../../src/platform/database/sql.ts';
import { until } from '../until.ts';
import type { PostgresNode } from './postgres-node.ts';
import { ReplicatedPostgres } from './replicated-postgres.ts';

/** Options of a pool of the tests. */
export const poolOf = (url: string) => ({
  url,
  max: 5,
  statementTimeoutMs: 15_000,
  applicationName: 'test',
});

/** A replicated pair, a process that reads with its standby, and another one that writes. */
export class ReadReplica {
  private constructor(
    readonly pair: ReplicatedPostgres,
    /** The request pool of the process that reads. */
    readonly database: SqlPool,
    readonly writer: SqlPool,
    readonly reads: StandbyReads,
  ) {}

  static async start(): Promise<ReadReplica> {
    const pair = await ReplicatedPostgres.start();
    const database = new SqlPool(poolOf(pair.primary.url));
    const writer = new SqlPool(poolOf(pair.primary.url));
    await writer.query('create table counter as select 0 as n');
    const reads = ReadReplica.open(database, pair.standby);
    const replica = new ReadReplica(pair, database, writer, reads);
    await replica.readsFrom('standby');
    return replica;
  }

  /** Begins to read with a standby. Close it with `onApplicationShutdown`. */
  static open(database: SqlPool, standby: PostgresNode): StandbyReads {
    const opened = new StandbyReads(database, poolOf(standby.url));
    opened.onApplicationBootstrap();
    return opened;
  }

  /** Waits until the next read would go to this server. */
  async readsFrom(server: 'standby' | 'primary', reads = this.reads): Promise<void> {
    await until(`reads to go to the ${server}`, async () => reads.route.from === server);
  }

  /** Writes and reads alternately, and returns the numbers of reads that missed a write. */
  async stale(times: number, reads = this.reads): Promise<number[]> {
    const missed: number[] = [];
    for (let n = 1; n <= times; n += 1) {
      const [row] = await this.writer.query<{ n: number }>(
        'update counter set n = n + 1 returning n',
      );
      const [seen] = await reads.query<{ n: number }>('select n from counter');
      if (seen?.n !== row?.n) missed.push(n);
    }
    return missed;
  }

  async close(): Promise<void> {
    await this.reads.onApplicationShutdown();
    await Promise.all([this.database.close(), this.writer.close()]);
    await this.pair.close();
  }
}
