import { StandbyReads } from '../../src/platform/database/replicas/standby-reads.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { PostgresNode } from '../support/replication/postgres-node.ts';
import { ReplicatedPostgres } from '../support/replication/replicated-postgres.ts';
import { until } from '../support/until.ts';

const poolOf = (url: string) => ({
  url,
  max: 5,
  statementTimeoutMs: 15_000,
  applicationName: 'test',
});

describe('reads with a standby', () => {
  let pair: ReplicatedPostgres;
  /** The request pool of the process that reads. */
  let database: SqlPool;
  /** Another process, which writes. */
  let writer: SqlPool;
  let reads: StandbyReads;

  const open = (standby: PostgresNode) => {
    const opened = new StandbyReads(database, poolOf(standby.url));
    opened.onApplicationBootstrap();
    return opened;
  };
  const readsFrom = (server: 'standby' | 'primary', of = reads) =>
    until(`reads to go to the ${server}`, async () => of.route.from === server);
  /** Writes and reads alternately, and returns the numbers of reads that missed a write. */
  const stale = async (times: number, of = reads): Promise<number[]> => {
    const missed: number[] = [];
    for (let n = 1; n <= times; n += 1) {
      const [row] = await writer.query<{ n: number }>('update counter set n = n + 1 returning n');
      const [seen] = await of.query<{ n: number }>('select n from counter');
      if (seen?.n !== row?.n) missed.push(n);
    }
    return missed;
  };

  beforeAll(async () => {
    pair = await ReplicatedPostgres.start();
    database = new SqlPool(poolOf(pair.primary.url));
    writer = new SqlPool(poolOf(pair.primary.url));
    await writer.query('create table counter as select 0 as n');
    reads = open(pair.standby);
    await readsFrom('standby');
  });
  afterAll(async () => {
    await reads.onApplicationShutdown();
    await Promise.all([database.close(), writer.close()]);
    await pair.close();
  });

  it('see every write that was committed before them, although commits wait for no standby', async () => {
    const { standby } = reads.counts;
    expect(await stale(400)).toEqual([]);
    expect(reads.counts.standby - standby).toBeGreaterThan(300);
  });

  it('run in transactions of the standby, which see every write too', async () => {
    await readsFrom('standby');
    const [row] = await writer.query<{ n: number }>('update counter set n = n + 1 returning n');
    const seen = await reads.transaction(async (sql) => {
      const [{ n, standby } = {}] = await sql.query<{ n: number; standby: boolean }>(
        'select n, pg_is_in_recovery() as standby from counter',
      );
      return { n, standby };
    });
    expect(seen).toEqual({ n: row?.n, standby: true });
  });

  it('go to the primary while the standby does not replay, and return to the standby afterwards', async () => {
    await pair.standby.query('select pg_wal_replay_pause()');
    expect(await stale(20)).toEqual([]);
    expect(reads.route).toEqual({
      from: 'primary',
      problem: 'lags behind by more than 25 ms',
    });
    await pair.standby.query('select pg_wal_replay_resume()');
    await readsFrom('standby');
    expect(await stale(20)).toEqual([]);
  });

  it('are repeated on the primary if they conflict with replay, and stay with the standby', async () => {
    await pair.standby.set('max_standby_streaming_delay', '0');
    await writer.query('create table crowd as select generate_series(1, 1000) as id');
    await readsFrom('standby');
    const { repeated } = reads.counts;
    const reading = reads.query<{ n: number; standby: boolean }>(
      'select count(*)::int as n, pg_is_in_recovery() as standby from crowd, pg_sleep(3)',
    );
    await until('the read to run on the standby', async () => {
      const running = `select from pg_stat_activity where query like '%from crowd%' and pid <> pg_backend_pid()`;
      return (await pair.standby.query(running)).length === 1;
    });
    await writer.query('delete from crowd where id <= 500');
    await until('the conflict', async () => {
      await writer.query('vacuum crowd');
      return reads.counts.repeated > repeated;
    });
    expect(await reading).toEqual([{ n: 500, standby: false }]);
    expect(reads.route.from).toBe('standby');
  });

  it('go to the primary while its commits are acknowledged before they are flushed', async () => {
    await pair.primary.set('synchronous_commit', 'off');
    await readsFrom('primary');
    expect(reads.route.problem).toContain('synchronous_commit is off');
    await pair.primary.set('synchronous_commit', null);
    await readsFrom('standby');
  });

  it('that are on their way are answered by the primary if the standby freezes', async () => {
    const reading = reads.query<{ standby: boolean }>(
      'select pg_is_in_recovery() as standby from pg_sleep(3)',
    );
    await until('the read to run on the standby', async () => {
      const running = `select from pg_stat_activity where query like '%pg_sleep(3)' and pid <> pg_backend_pid()`;
      return (await pair.standby.query(running)).length === 1;
    });
    await pair.standby.freeze();
    expect(await reading).toEqual([{ standby: false }]);
    expect(reads.route.from).toBe('primary');
    expect(await stale(20)).toEqual([]);
    await pair.standby.thaw();
    await readsFrom('standby');
  });

  it('are answered by the primary while the standby is gone or cut off', async () => {
    await pair.standby.crash();
    expect(await stale(20)).toEqual([]);
    await readsFrom('primary');
    await pair.standby.start();
    await readsFrom('standby');

    pair.standby.network.block();
    expect(await stale(20)).toEqual([]);
    await readsFrom('primary');
    pair.standby.network.reset();
    pair.standby.network.unblock();
    await readsFrom('standby');
    expect(await stale(20)).toEqual([]);
  });

  it('go to the primary while the standby receives nothing', async () => {
    pair.replication.block();
    expect(await stale(20)).toEqual([]);
    expect(reads.route.from).toBe('primary');
    pair.replication.unblock();
    await readsFrom('standby');
  });

  it('never go to another database system, nor to the primary by the name of a standby', async () => {
    const other = await ReplicatedPostgres.start();
    const strange = open(other.standby);
    const same = open(pair.primary);
    try {
      await until('both to be checked', async () =>
        [strange, same].every(({ route }) => route.problem !== 'has not been checked yet'),
      );
      expect(strange.route.problem).toBe('does not belong to the database system of the primary');
      expect(same.route.problem).toBe('is no standby: it was promoted, or never was one');
      expect(await stale(5, strange)).toEqual([]);
      expect(await stale(5, same)).toEqual([]);
      expect([strange.counts.standby, same.counts.standby]).toEqual([0, 0]);
    } finally {
      await Promise.all([strange.onApplicationShutdown(), same.onApplicationShutdown()]);
      await other.close();
    }
  });

  it('leave a standby that is promoted, and the primary stays the primary', async () => {
    const promoted = await pair.addStandby(pair.primary);
    await pair.caughtUp(pair.primary, promoted);
    const alone = open(promoted);
    try {
      await readsFrom('standby', alone);
      await promoted.promote();
      await readsFrom('primary', alone);
      expect(alone.route.problem).toBe('is no standby: it was promoted, or never was one');
      expect(await stale(20, alone)).toEqual([]);
      expect(await stale(20)).toEqual([]);
    } finally {
      await alone.onApplicationShutdown();
    }
  });

  it('leave a standby that still follows the primary that was replaced, however much it has replayed', async () => {
    const left = await pair.addStandby(pair.primary);
    await pair.caughtUp(pair.primary, left);
    await pair.failOver();
    // The old primary goes on, so that its standby has more of the log than the new primary.
    await pair.primary.query('create table filler as select generate_series(1, 100000) as id');
    await pair.caughtUp(pair.primary, left);
    const successor = new SqlPool(poolOf(pair.standby.url));
    await successor.query('update counter set n = 1000000');
    const behind = new StandbyReads(successor, poolOf(left.url));
    behind.onApplicationBootstrap();
    try {
      const problem = 'replays timeline 1, and the primary has timeline 2';
      await until('the standby to be checked', async () => behind.route.problem === problem);
      expect(await behind.query('select n from counter')).toEqual([{ n: 1_000_000 }]);
      expect(behind.counts).toEqual({ standby: 0, primary: 1, repeated: 0 });
    } finally {
      await behind.onApplicationShutdown();
      await successor.close();
    }
  });
});
