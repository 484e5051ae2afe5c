import { Logger } from '@nestjs/common';
import { QUEUES, type QueueName, Signals } from '../../src/platform/work/signals.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { ChangeWatch } from '../../src/deltas/change-watch.ts';
import type { DeltasRepository } from '../../src/deltas/deltas.repository.ts';
import { Notifier } from '../../src/platform/work/notifier.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

describe('Notifier', () => {
  let database: TestDatabase;
  let sql: SqlPool;
  const notifiers: Notifier[] = [];

  beforeAll(async () => {
    Logger.overrideLogger(false);
    database = await createTestDatabase();
    sql = new SqlPool({
      url: database.url,
      max: 1,
      statementTimeoutMs: 5000,
      applicationName: 'test',
    });
  });
  afterEach(async () => {
    for (const notifier of notifiers.splice(0)) await notifier.onApplicationShutdown();
  });
  afterAll(async () => {
    await sql.close();
    await database.drop();
  });

  /** Starts a notifier as a separate process would. */
  const start = async (roles: string) => {
    const config = loadConfig({
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
      ROLES: roles,
    });
    const signals = new Signals();
    const heard: QueueName[] = [];
    signals.listen((signal) => {
      if (signal.kind === 'due' && signal.elsewhere) heard.push(signal.queue);
    });
    const notifier = new Notifier(config, signals);
    notifiers.push(notifier);
    await notifier.onApplicationBootstrap();
    heard.length = 0; // the notifier checks every queue once after connecting
    return { signals, heard };
  };

  it('notifies other processes once per queue, but not its own process', async () => {
    const api = await start('api');
    const worker = await start('worker');
    const other = await start('worker');
    worker.signals.wake('hook');
    await until('the other process to be notified', async () => other.heard.length > 0);
    expect(worker.heard).toEqual([]);
    for (let times = 0; times < 100; times += 1) api.signals.wake('send');
    api.signals.wake('sync');
    await until(
      'both processes to be notified',
      async () => worker.heard.includes('sync') && other.heard.includes('sync'),
    );
    expect(worker.heard).toEqual(['send', 'sync']);
    expect(api.heard).toEqual([]);
  });

  it('ends a wait for changes of an account at once when another process writes one', async () => {
    const [api, worker] = [await start('api'), await start('worker')];
    // This watch finds no change by itself, so only the notification can end the wait.
    const blind = { newest: async () => new Map() } as unknown as DeltasRepository;
    const watch = new ChangeWatch(blind, api.signals);
    const account = '019aa1b2-0000-7000-8000-00000000abcd';
    let others = 0;
    const heard = watch.during(account, (waiting) => waiting.next());
    const unconcerned = watch.during(account.replace('abcd', 'abce'), async (waiting) => {
      if (await waiting.next()) others += 1;
    });
    worker.signals.send({ kind: 'changed', accounts: [account], elsewhere: false });
    expect(await heard).toBe(true);
    expect([others, watch.size]).toEqual([0, 1]);
    watch.onModuleDestroy();
    await unconcerned;
    expect(others).toBe(0);
  });

  it('listens again after a lost connection, and then checks every queue', async () => {
    const api = await start('api');
    const worker = await start('worker');
    await sql.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'carillon-notifier'`,
    );
    await until('the worker to reconnect', async () =>
      QUEUES.every((queue) => worker.heard.includes(queue)),
    );
    worker.heard.length = 0;
    await until('the worker to be notified', async () => {
      api.signals.wake('reminder');
      return worker.heard.includes('reminder');
    });
  });
});
