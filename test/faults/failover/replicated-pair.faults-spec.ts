import pg from 'pg';
import { ReplicatedPostgres } from '../../support/replication/replicated-postgres.ts';
import { until } from '../../support/until.ts';

/* The tests of failovers are worth as much as their pair of servers. */

const COUNT = 'select count(*)::int as n from kept';

describe('the replicated pair of the tests', () => {
  let pair: ReplicatedPostgres;
  const clients: pg.Client[] = [];

  const connect = async () => {
    const client = new pg.Client({ connectionString: pair.url });
    client.on('error', () => undefined);
    await client.connect();
    clients.push(client);
    return client;
  };

  beforeAll(async () => {
    pair = await ReplicatedPostgres.start();
  });
  afterAll(async () => {
    await Promise.allSettled(clients.map((client) => client.end()));
    await pair.close();
  });

  it('loses what the standby had not received, starts a new timeline, and keeps old connections until they are cut', async () => {
    const { primary, standby } = pair;
    await primary.query('create table kept (id int)');
    await primary.query('insert into kept values (1)');
    await pair.caughtUp();
    pair.replication.block();
    await primary.query('insert into kept values (2)');
    expect(await primary.timeline()).toBe(1);
    const old = await connect();

    await primary.freeze();
    const unanswered = old.query(COUNT);
    await pair.failOver();
    pair.moveAddress({ cut: false });
    expect((await (await connect()).query(COUNT)).rows).toEqual([{ n: 1 }]);
    expect(await standby.timeline()).toBe(2);

    await primary.thaw();
    expect((await unanswered).rows).toEqual([{ n: 2 }]);
    await old.query('insert into kept values (3)');
    pair.address.reset();
    await expect(old.query(COUNT)).rejects.toThrow();
  });

  it('makes commits wait for the standby if it is synchronous', async () => {
    const synchronous = await ReplicatedPostgres.start({ synchronous: true });
    try {
      synchronous.replication.block();
      let committed = false;
      const waiting = synchronous.primary
        .query('create table waited (id int)')
        .then(() => (committed = true));
      await until('the commit to wait for the standby', async () => {
        const [row] = await synchronous.primary.query(
          "select 1 from pg_stat_activity where wait_event = 'SyncRep'",
        );
        return row !== undefined;
      });
      expect(committed).toBe(false);
      synchronous.replication.unblock();
      await waiting;
    } finally {
      await synchronous.close();
    }
  });
});
