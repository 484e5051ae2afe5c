import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type CrashingPostgres, startCrashingPostgres } from '../support/crashing-postgres.ts';
import type { TestAccount } from '../support/factories.ts';
import { expectPromiseKept } from '../support/fault-figures.ts';
import { type CallResponse, call, postMessages } from '../support/fault-load.ts';
import { FaultWorld } from '../support/fault-world.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { sized } from '../support/sized.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

const CRASHES = sized(1, 2);
const DARK_MS = sized(12_000, 20_000);
const MESSAGES = sized(200, 300);

describe('a database that fails while servers work', () => {
  let database: CrashingPostgres;
  /** The network between one of the servers and the database. */
  let network: TcpProxy;
  let world: FaultWorld;
  let url: URL;
  let far: ServerProcess;
  let near: ServerProcess;

  beforeAll(async () => {
    database = await startCrashingPostgres();
    network = await TcpProxy.start(database.socketPath);
    world = await FaultWorld.start({ accounts: 20, databaseUrl: database.url });
    await world.sink.behave({ delayMs: [10, 200] });
    url = new URL(database.url);
    url.hostname = '127.0.0.1';
    url.port = String(network.port);
    // This server uses its own role name, by which the proxy recognises its connections.
    await world.sql.query(`create role far superuser login password '${url.password}'`);
    const farUrl = new URL(url);
    farUrl.username = 'far';
    [far, near] = await Promise.all([
      world.startServer({ DATABASE_URL: farUrl.href }),
      world.startServer({ DATABASE_URL: url.href }),
    ]);
  });
  afterAll(async () => {
    await world.close();
    await network.stop();
    await database.close();
  });

  const isReady = async (server: ServerProcess) =>
    fetch(`${server.url}/health/ready`, { signal: AbortSignal.timeout(10_000) }).then(
      ({ status }) => status === 200,
      () => false,
    );
  const administrator = async () => {
    const client = new pg.Client({ connectionString: database.url });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  /** Ends every connection of the servers, whatever it is doing. */
  const terminateAll = async () => {
    const client = await administrator();
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name like 'carillon%' and pid <> pg_backend_pid()`,
    );
    await client.end();
  };

  it('makes a server that starts before it wait until the database is up', async () => {
    await database.crash();
    let waits = true;
    const starting = world.startServer({ DATABASE_URL: url.href }).finally(() => (waits = false));
    await until(
      'the running servers to report that they are not ready',
      async () => !(await isReady(near)),
    );
    expect(waits).toBe(true);
    await database.restart();
    expect(await (await starting).stop()).toBe(0);
    await until(
      'the running servers to be ready',
      async () => (await isReady(near)) && (await isReady(far)),
    );
  }, 240_000);

  it('causes no loss and no duplicates when it crashes, drops connections, cannot be reached or has no free connection; callers get 503 meanwhile', async () => {
    const answers = new Map<number, number>();
    let last = 0;
    const onAnswer = ({ status }: CallResponse) => {
      answers.set(status, (answers.get(status) ?? 0) + 1);
      last = status;
    };
    const load = { goes: true };
    let posted = 0;
    const messages = postMessages(world, {
      messages: MESSAGES,
      callers: 4,
      server: () => (posted++ % 3 === 0 ? far : near),
      onAnswer,
      // Posting is slowed down, so that there is still something to send in every failure.
      pace: (n) => (load.goes ? delay((n % 4) * 200) : Promise.resolve()),
    });
    const calendars: string[] = [];
    const writes = (async () => {
      const account = world.calendarAccount as TestAccount;
      while (load.goes) {
        const calendar = await call(near, account, 'POST', '/calendars', {
          body: { name: 'Work' },
        });
        if (calendar) onAnswer(calendar);
        if (calendar?.status !== 200) continue;
        calendars.push(String(calendar.body.job_status_id));
        const event = {
          calendar_id: calendar.body['id'],
          title: 'Lunch',
          when: { time: 2_000_000_000 },
        };
        const answer = await call(near, account, 'POST', '/events', { body: event });
        if (answer) onAnswer(answer);
        await delay(100);
      }
    })();

    for (let crash = 0; crash < CRASHES; crash += 1) {
      const before = calendars.length;
      await until('some work', async () => calendars.length > before + 3);
      await database.crash();
      await until('callers to get 503', async () => last === 503);
      expect((await fetch(`${near.url}/health/live`)).status).toBe(200);
      await database.restart();
    }

    await until(
      'both servers to be ready again',
      async () => (await isReady(near)) && (await isReady(far)),
    );
    // One server's packets to the database disappear without an error. Meanwhile the other server
    // meets the failures below.
    network.block((first) => first.includes('user\0far\0'));
    const light = delay(DARK_MS).then(() => network.unblock());
    let terminations = 0;
    for (; terminations < 5; terminations += 1) {
      await terminateAll();
      await delay(500);
    }
    const taken: pg.Client[] = [];
    await terminateAll();
    try {
      for (;;) taken.push(await administrator());
    } catch (error) {
      expect((error as { code?: string }).code).toBe('53300'); // too_many_connections: every connection slot is taken
    }
    await until('callers to get 503', async () => last === 503);
    await Promise.all(taken.map((client) => client.end()));
    await light;
    await until(
      'both servers to be ready again',
      async () => (await isReady(near)) && (await isReady(far)),
    );
    network.reset();
    load.goes = false;
    const accepted = await messages;
    await writes;
    await world.settled();
    await until(
      'every delivery',
      async () => (await world.count('select count(*) as n from hook_job')) === 0,
      60_000,
    );

    expect([...answers.keys()].filter((status) => ![200, 202, 409, 503].includes(status))).toEqual(
      [],
    );
    await expectPromiseKept(world, {
      test: `the database crashes, drops connections, has no free connection, cannot be reached for ${DARK_MS / 1000} s`,
      faults: `${CRASHES} crashes, ${terminations + 1} terminations, 1 cut, 1 reset, 1 without a free connection`,
      accepted,
    });
    // Each calendar and event exists at the provider once, even if no response confirmed that it
    // was stored.
    expect(
      await world.count('select count(*) as n from sandbox_calendar where not is_primary'),
    ).toBe(await world.count('select count(*) as n from calendar where not is_primary'));
    expect(await world.count('select count(*) as n from sandbox_event')).toBe(
      await world.count('select count(*) as n from event'),
    );
    const ended = await world.sql.query('select distinct status from job_status');
    expect(ended).toEqual([{ status: 'successful' }]);
    // Every webhook event arrived. A repeated delivery has the same id.
    const received = new Set(
      world.receiver.received.map(({ headers }) => String(headers['webhook-id'])),
    );
    const events = await world.sql.query<{ id: string }>('select id from webhook_event');
    expect(events.filter(({ id }) => ![...received].some((name) => name.includes(id)))).toEqual([]);
    for (const server of [near, far]) {
      expect(server.output()).not.toContain('deadlock');
      expect(await server.stop()).toBe(0);
    }
  }, 480_000);
});
