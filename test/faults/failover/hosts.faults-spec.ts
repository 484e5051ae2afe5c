import { migrate } from '../../../src/app/migrate.ts';
import { expectPromiseKept } from '../../support/fault-figures.ts';
import { call, type CallResponse, postMessages } from '../../support/fault-load.ts';
import { FaultWorld } from '../../support/fault-world.ts';
import { ReplicatedPostgres } from '../../support/replication/replicated-postgres.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { sized } from '../../support/sized.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/until.ts';

const MESSAGES = sized(120, 800);
/** Nobody listens on this port. */
const DEAD = '127.0.0.1:1';
const STORED = 'select count(*)::int as n from job_status where id = any($1::uuid[])';

interface Readiness {
  checks: { name: string; ok: boolean; problem?: string }[];
}

describe('servers whose DATABASE_URL names several hosts', () => {
  let pair: ReplicatedPostgres;
  let world: FaultWorld;
  let server: ServerProcess;
  let url: string;
  /** The last host. Nothing is behind it at first. */
  let spare: TcpProxy;

  beforeAll(async () => {
    pair = await ReplicatedPostgres.start({ synchronous: true });
    spare = await TcpProxy.start(1);
    const hosts = [DEAD, pair.standby.host, pair.primary.host, `127.0.0.1:${spare.port}`];
    url = `postgresql://postgres@${hosts.join(',')}/carillon?target_session_attrs=read-write`;
    world = await FaultWorld.start({ accounts: 10, databaseUrl: url });
    server = await world.startServer();
  });
  afterAll(async () => {
    await world.close();
    await spare.stop();
    await pair.close();
  });

  const databaseProblem = async () => {
    const response = await fetch(`${server.url}/health/ready`);
    const { checks } = (await response.json()) as Readiness;
    return checks.find(({ name }) => name === 'database')?.problem ?? null;
  };

  it('work although the first host is dead and the second one is a standby', async () => {
    expect(await databaseProblem()).toBeNull();
    expect(await migrate(url)).toEqual([]);
    expect(await pair.standby.query('select count(*)::int as n from worker')).toEqual([{ n: 1 }]);
  });

  it('answer 503 while no host accepts writes, and follow a switchover without losing or doubling a message', async () => {
    const stopped = Promise.withResolvers<void>();
    const statuses = new Set<number>();
    let last = 0;
    const posting = postMessages(world, {
      messages: MESSAGES,
      callers: 4,
      server: () => server,
      // The second half is posted when the primary is gone.
      pace: (n) => (n < MESSAGES / 2 ? Promise.resolve() : stopped.promise),
      onAnswer: ({ status }: CallResponse) => {
        statuses.add(status);
        last = status;
      },
    });
    await until('some messages to leave', async () => (await world.accepted()).length > 10);
    await pair.primary.stop();
    stopped.resolve();
    await until('callers to get 503', async () => last === 503);
    await until('the process to say why', async () =>
      (await databaseProblem())?.startsWith('is read-only'),
    );
    const starting = world.startServer();
    await pair.standby.set('synchronous_standby_names', null);
    await pair.standby.promote();
    const accepted = await posting;
    await world.settled();

    expect([...statuses].filter((status) => ![202, 409, 503].includes(status))).toEqual([]);
    await expectPromiseKept(world, {
      test: 'a switchover between the hosts of DATABASE_URL',
      faults: '1 switchover',
      accepted,
    });
    expect(await (await starting).stop()).toBe(0);
    expect(server.output()).toContain(`connections go to ${pair.standby.host} now`);
  });

  it('stay on the new primary when the old one accepts writes again', async () => {
    await pair.primary.start();
    await pair.primary.set('synchronous_standby_names', null);
    const restarted = await world.startServer();
    const [account] = world.accounts;
    if (!account) throw new Error('the world has no accounts');
    const posts = await postMessages(world, {
      messages: 4,
      key: 'after',
      server: (n) => (n % 2 ? server : restarted),
    });
    expect(await pair.standby.query(STORED, [posts])).toEqual([{ n: 4 }]);
    expect(await pair.primary.query(STORED, [posts])).toEqual([{ n: 0 }]);
    expect((await call(restarted, account, 'POST', '/v2/outbox', { body: {} }))?.status).toBe(400);
    expect(await restarted.stop()).toBe(0);
  });

  it('leave a primary that lives on within two seconds when its standby is promoted', async () => {
    const third = await pair.addStandby(pair.standby);
    spare.aim(third.socketPath);
    await pair.caughtUp(pair.standby, third);
    await third.promote();
    await pair.standby.left();
    const posts = await postMessages(world, { messages: 4, key: 'third', server: () => server });
    expect(await third.query(STORED, [posts])).toEqual([{ n: 4 }]);
    expect(await pair.standby.query(STORED, [posts])).toEqual([{ n: 0 }]);
    expect(await server.stop()).toBe(0);
  });
});
