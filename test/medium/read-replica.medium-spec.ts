import type { StandbyReads } from '../../src/platform/database/replicas/standby-reads.ts';
import { ReadReplica } from '../support/replication/read-replica.ts';

describe('reads with a standby', () => {
  let replica: ReadReplica;
  let reads: StandbyReads;
  beforeAll(async () => {
    replica = await ReadReplica.start();
    ({ reads } = replica);
  });
  afterAll(() => replica.close());

  it('see every write that was committed before them, although commits wait for no standby', async () => {
    const before = reads.counts.standby;
    while (reads.counts.standby < before + 400) expect(await replica.stale(1)).toEqual([]);
  });

  it('run in transactions of the standby, which see every write too', async () => {
    await replica.readsFrom('standby');
    const [row] = await replica.writer.query<{ n: number }>(
      'update counter set n = n + 1 returning n',
    );
    const seen = await reads.transaction(async (sql) => {
      const [{ n, standby } = {}] = await sql.query<{ n: number; standby: boolean }>(
        'select n, pg_is_in_recovery() as standby from counter',
      );
      return { n, standby };
    });
    expect(seen).toEqual({ n: row?.n, standby: true });
  });

  it('go to the primary while the standby does not replay, and return to the standby afterwards', async () => {
    await replica.pair.standby.query('select pg_wal_replay_pause()');
    expect(await replica.stale(20)).toEqual([]);
    expect(reads.route).toEqual({
      from: 'primary',
      problem: 'lags behind by more than 50 ms',
    });
    await replica.pair.standby.query('select pg_wal_replay_resume()');
    await replica.readsFrom('standby');
    expect(await replica.stale(20)).toEqual([]);
  });
});
