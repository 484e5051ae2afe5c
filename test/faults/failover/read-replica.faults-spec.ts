import type { StandbyReads } from '../../../src/platform/database/replicas/standby-reads.ts';
import { SqlPool } from '../../../src/platform/database/sql.ts';
import { poolOf, ReadReplica } from '../../support/replication/read-replica.ts';
import { ReplicatedPostgres } from '../../support/replication/replicated-postgres.ts';
import { until } from '../../support/until.ts';

describe('reads with a standby', () => {
  let replica: ReadReplica;
  let reads: StandbyReads;
  beforeAll(async () => {
    replica = await ReadReplica.start();
    ({ reads } = replica);
  });
  afterAll(() => replica.close());

  it('are repeated on the primary if they conflict with replay, and stay with the standby', async () => {
    await replica.pair.standby.set('max_standby_streaming_delay', '0');
    await replica.writer.query('create table crowd as select generate_series(1, 1000) as id');
    await replica.readsFrom('standby');
    const { repeated } = reads.counts;
    const reading = reads.query<{ n: number; standby: boolean }>(
      'select count(*)::int as n, pg_is_in_recovery() as standby from crowd, pg_sleep(3)',
    );
    await until('the read to run on the standby', async () => {
      const running = `select from pg_stat_activity where query like '%from crowd%' and pid <> pg_backend_pid()`;
      return (await replica.pair.standby.query(running)).length === 1;
    });
    await replica.writer.query('delete from crowd where id <= 500');
    await until('the conflict', async () => {
      await replica.writer.query('vacuum crowd');
      return reads.counts.repeated > repeated;
    });
    expect(await reading).toEqual([{ n: 500, standby: false }]);
    expect(reads.route.from).toBe('standby');
  });

  it('go to the primary while its commits are acknowledged before they are flushed', async () => {
    await replica.pair.primary.set('synchronous_commit', 'off');
    await replica.readsFrom('primary');
    expect(reads.route.problem).toContain('synchronous_commit is off');
    await replica.pair.primary.set('synchronous_commit', null);
    await replica.readsFrom('standby');
  });

  it('that are on their way are answered by the primary if the standby freezes', async () => {
    const reading = reads.query<{ standby: boolean }>(
      'select pg_is_in_recovery() as standby from pg_sleep(3)',
    );
    await until('the read to run on the standby', async () => {
      const running = `select from pg_stat_activity where query like '%pg_sleep(3)' and pid <> pg_backend_pid()`;
      return (await replica.pair.standby.query(running)).length === 1;
    });
    await replica.pair.standby.freeze();
    expect(await reading).toEqual([{ standby: false }]);
    expect(reads.route.from).toBe('primary');
    expect(await replica.stale(20)).toEqual([]);
    await replica.pair.standby.thaw();
    await replica.readsFrom('standby');
  });

  it('are answered by the primary while the standby is gone or cut off', async () => {
    await replica.pair.standby.crash();
    expect(await replica.stale(20)).toEqual([]);
    await replica.readsFrom('primary');
    await replica.pair.standby.start();
    await replica.readsFrom('standby');

    replica.pair.standby.network.block();
    expect(await replica.stale(20)).toEqual([]);
    await replica.readsFrom('primary');
    replica.pair.standby.network.reset();
    replica.pair.standby.network.unblock();
    await replica.readsFrom('standby');
    expect(await replica.stale(20)).toEqual([]);
  });

  it('go to the primary while the standby receives nothing', async () => {
    replica.pair.replication.block();
    expect(await replica.stale(20)).toEqual([]);
    expect(reads.route.from).toBe('primary');
    replica.pair.replication.unblock();
    await replica.readsFrom('standby');
  });

  it('never go to another database system, nor to the primary by the name of a standby', async () => {
    const other = await ReplicatedPostgres.start();
    const strange = ReadReplica.open(replica.database, other.standby);
    const same = ReadReplica.open(replica.database, replica.pair.primary);
    try {
      await until('both to be checked', async () =>
        [strange, same].every(({ route }) => route.problem !== 'has not been checked yet'),
      );
      expect(strange.route.problem).toBe('does not belong to the database system of the primary');
      expect(same.route.problem).toBe('is no standby: it was promoted, or never was one');
      expect(await replica.stale(5, strange)).toEqual([]);
      expect(await replica.stale(5, same)).toEqual([]);
      expect([strange.counts.standby, same.counts.standby]).toEqual([0, 0]);
    } finally {
      await Promise.all([strange.onApplicationShutdown(), same.onApplicationShutdown()]);
      await other.close();
    }
  });

  it('leave a standby that is promoted, and the primary stays the primary', async () => {
    const promoted = await replica.pair.addStandby(replica.pair.primary);
    await replica.pair.caughtUp(replica.pair.primary, promoted);
    const alone = ReadReplica.open(replica.database, promoted);
    try {
      await replica.readsFrom('standby', alone);
      await promoted.promote();
      await replica.readsFrom('primary', alone);
      expect(alone.route.problem).toBe('is no standby: it was promoted, or never was one');
      expect(await replica.stale(20, alone)).toEqual([]);
      expect(await replica.stale(20)).toEqual([]);
    } finally {
      await alone.onApplicationShutdown();
    }
  });

  it('leave a standby that still follows the primary that was replaced, however much it has replayed', async () => {
    const left = await replica.pair.addStandby(replica.pair.primary);
    await replica.pair.caughtUp(replica.pair.primary, left);
    await replica.pair.failOver();
    // The old primary goes on, so that its standby has more of the log than the new primary.
    await replica.pair.primary.query(
      'create table filler as select generate_series(1, 100000) as id',
    );
    await replica.pair.caughtUp(replica.pair.primary, left);
    const successor = new SqlPool(poolOf(replica.pair.standby.url));
    await successor.query('update counter set n = 1000000');
    const behind = ReadReplica.open(successor, left);
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
