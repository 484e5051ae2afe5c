import { Logger } from '@nestjs/common';
import { QUEUES, type QueueName, Signals } from '../../src/platform/work/signals.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { ChangeWatch } from '../../src/deltas/change-watch.ts';
import type { DeltasRepository } from '../../src/deltas/deltas.repository.ts';
import { CurrentWorker } from '../../src/platform/work/workers/current-worker.ts';
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
    await sql.query('delete from worker');
    for (const notifier of notifiers.splice(0)) await notifier.onApplicationShutdown();
  });
  afterAll(async () => {
    await sql.close();
    await database.drop();
  });

  /**
   * Starts a notifier as a separate process would.
   * @param claims whether its engine claims rows; only for workers
   */
  const start = async (roles: string, claims = true) => {
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
    const id = roles === 'worker' ? await enter() : 0;
    const current = new CurrentWorker();
    current.readFrom(
      () => id,
      () => id > 0 && claims,
    );
    const notifier = new Notifier(config, signals, current);
    notifiers.push(notifier);
    await notifier.onApplicationBootstrap();
    heard.length = 0; // the notifier checks every queue once after connecting
    return { signals, heard, id };
  };

  /** Enters a worker whose heartbeat counts as recent, however long a test takes. */
  const enter = async (): Promise<number> => {
    const [row] = await sql.query<{ id: number }>(
      `insert into worker (host, pid, seen_at) values ('host', 1, now() + interval '1 h') returning id`,
    );
    return row?.id ?? 0;
  };

  it('wakes two workers of many when another process has work for them', async () => {
    const api = await start('api');
    const workers: Awaited<ReturnType<typeof start>>[] = [];
    for (let count = 0; count < 6; count += 1) workers.push(await start('worker'));
    const woken = () => workers.filter(({ heard }) => heard.includes('send')).length;
    for (let times = 0; times < 100; times += 1) api.signals.wake('send');
    await until('two workers to be woken', async () => woken() === 2);
    // A queue that is announced to all workers afterwards: nothing else was under way before.
    await sql.query(`select pg_notify('carillon_due', 'hook')`);
    await until('all workers to be woken', async () =>
      workers.every(({ heard }) => heard.includes('hook')),
    );
    expect(woken()).toBe(2);
    expect(api.heard).toEqual([]);
  });

  it('wakes only workers that have a heartbeat', async () => {
    const api = await start('api');
    const [silent, living] = [await start('worker'), await start('worker')];
    await sql.query(`update worker set seen_at = now() - interval '3 s' where id = $1`, [
      silent.id,
    ]);
    for (const queue of QUEUES) {
      api.signals.wake(queue);
      await until('the living worker to be woken', async () => living.heard.includes(queue));
    }
    await sql.query(`select pg_notify('carillon_due', 'hook')`);
    await until('the silent worker to be woken with all', async () => silent.heard.length > 0);
    expect(silent.heard).toEqual(['hook']);
  });

  it('wakes no other worker for work of its own process, unless that is more than it can take', async () => {
    const [worker, other] = [await start('worker'), await start('worker')];
    worker.signals.wake('hook');
    for (let times = 0; times < 100; times += 1)
      worker.signals.send({ kind: 'overflow', queue: 'send' });
    await until('the other worker to be woken', async () => other.heard.length > 0);
    await sql.query(`select pg_notify('carillon_due', 'sync')`);
    await until('the last notification', async () =>
      [worker, other].every(({ heard }) => heard.includes('sync')),
    );
    expect(other.heard).toEqual(['send', 'sync']);
    expect(worker.heard).toEqual(['sync']);
  });

  it('wakes other workers for work of its own process while its engine does not claim', async () => {
    const [stopping, other] = [await start('worker', false), await start('worker')];
    stopping.signals.wake('hook');
    await until('the other worker to be woken', async () => other.heard.includes('hook'));
    expect(stopping.heard).toEqual([]);
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
