import { CurrentWorker } from '../../src/platform/work/workers/current-worker.ts';
import { APP_CONFIG, type AppConfig } from '../../src/platform/config/app-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailWatcher } from '../../src/providers/port/connector.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { MailboxWatches } from '../../src/sync/watches/mailbox-watches.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { SyncWaker } from '../../src/sync/sync-waker.ts';
import { WatchLeases } from '../../src/sync/watches/watch-leases.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

/** One process: a worker, and a provider whose watches follow the test. */
interface Process {
  workerId: number;
  watches: MailboxWatches;
  current: { id: number };
  watchers: Map<string, MailWatcher>;
  /** Ids of the accounts whose watches were started, in order. */
  begun: string[];
  refusal: ProviderError | null;
}

describe('MailboxWatches', () => {
  let server: TestApp;
  let database: Database;
  let leases: WatchLeases;
  let processes: Process[] = [];

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    leases = server.app.get(WatchLeases);
  });
  afterAll(() => server.close());
  afterEach(async () => {
    for (const { watches } of processes) await watches.onModuleDestroy();
    processes = [];
    await database.query('delete from mailbox_watch');
    await database.query('delete from worker');
  });

  async function start(most = 100): Promise<Process> {
    const [row] = await database.query<{ id: number }>(
      // There are no heartbeats here. The worker counts as alive until the test deletes its row.
      `insert into worker (host, pid, seen_at) values ('test', 1, now() + interval '1 h') returning id`,
    );
    const current = { id: row?.id ?? 0 };
    const worker = new CurrentWorker();
    worker.readFrom(() => current.id);
    const made: Omit<Process, 'watches'> = {
      workerId: current.id,
      current,
      watchers: new Map(),
      begun: [],
      refusal: null,
    };
    const connector = {
      name: 'sandbox',
      mail: {
        watch: async ({ accountId }: { accountId: string }, watcher: MailWatcher) => {
          made.begun.push(accountId);
          if (made.refusal) throw made.refusal;
          made.watchers.set(accountId, watcher);
          return { stop: async () => void made.watchers.delete(accountId) };
        },
      },
    } as unknown as Connector;
    const registry = new ConnectorRegistry([connector]);
    const base = server.app.get<AppConfig>(APP_CONFIG);
    const config = {
      ...base,
      roles: ['worker'],
      sync: { ...base.sync, watches: most },
    } as AppConfig;
    const waker = new SyncWaker(database, registry);
    const accounts = server.app.get(ProviderAccounts);
    const watches = new MailboxWatches(config, worker, leases, accounts, registry, waker);
    const process = Object.assign(made, { watches });
    processes.push(process);
    return process;
  }
  async function watched(count: number): Promise<TestAccount[]> {
    const application = await createApplication(server.app);
    const accounts: TestAccount[] = [];
    for (let n = 0; n < count; n += 1) {
      const account = await createAccount(server.app, application);
      await scheduleSync(database, account.id);
      await database.query(
        `update sync_job set run_at = now() + interval '1 h', again = false where account_id = $1`,
        [account.id],
      );
      await leases.add(account.id);
      accounts.push(account);
    }
    return accounts;
  }
  const rowOf = async ({ id }: TestAccount) => {
    const [row] = await database.query<{
      worker: number | null;
      up: boolean;
      failures: number;
      wait: number;
      due: boolean;
    }>(
      `select w.worker_id as worker, w.up_since is not null as up, w.failures,
         extract(epoch from w.retry_at - now())::float8 as wait, j.run_at <= now() as due
       from mailbox_watch w join sync_job j using (account_id) where account_id = $1`,
      [id],
    );
    return row;
  };
  const upIn = (process: Process, count: number) =>
    until(`${count} watches`, async () => process.watches.count === count);

  it('starts watches that no process has, and syncs changed mailboxes', async () => {
    const [account] = (await watched(1)) as [TestAccount];
    const process = await start();
    expect(await process.watches.tick()).toBe(true);
    await upIn(process, 1);
    await process.watches.tick();
    expect(await rowOf(account)).toMatchObject({ worker: process.workerId, up: true });
    await until('the first sync to be due', async () => (await rowOf(account))?.due === true);
    await database.query(`update sync_job set run_at = now() + interval '1 h', again = false`);
    process.watchers.get(account.id)?.onChange();
    await until('the sync pass', async () => (await rowOf(account))?.due === true);
  });

  it('gives each mailbox to one process, and hands the watches of a dead process to the others', async () => {
    const accounts = await watched(10);
    const [one, other] = [await start(), await start()];
    await Promise.all([one.watches.tick(), other.watches.tick()]);
    await upIn(one, 5);
    await upIn(other, 5);
    expect(new Set([...one.begun, ...other.begun]).size).toBe(10);
    await one.watches.tick();
    expect(one.watches.count).toBe(5);
    // As the engine of another process does it.
    await database.query('delete from worker where id = $1', [other.workerId]);
    await one.watches.tick();
    await upIn(one, 10);
    expect(new Set(one.begun)).toEqual(new Set(accounts.map(({ id }) => id)));
  });

  it('releases watches beyond its share when another worker starts', async () => {
    await watched(30);
    const one = await start();
    await one.watches.tick();
    await upIn(one, 30);
    const other = await start();
    await one.watches.tick();
    await other.watches.tick();
    await upIn(other, 7);
    expect(one.watches.count).toBe(23);
  });

  it('starts no more watches than its limit', async () => {
    await watched(4);
    const process = await start(3);
    await process.watches.tick();
    await upIn(process, 3);
    await process.watches.tick();
    expect(process.begun).toHaveLength(3);
  });

  it('waits longer after each end, until a watch was stable', async () => {
    const [account] = (await watched(1)) as [TestAccount];
    const process = await start();
    process.refusal = new ProviderError('temporary', 'no');
    for (const [failures, least] of [
      [1, 5],
      [2, 10],
      [3, 20],
    ] as const) {
      await process.watches.tick();
      await until('the attempt', async () => process.begun.length === failures);
      const ended = await until('the end of the watch to be stored', async () => {
        await process.watches.tick();
        const row = await rowOf(account);
        return row?.failures === failures && row;
      });
      expect(ended.wait).toBeGreaterThan(least - 2);
      // The watch is not retried early, no matter how late the test asks.
      await database.query(`update mailbox_watch set retry_at = retry_at + interval '1 h'`);
      await process.watches.tick();
      expect(process.begun).toHaveLength(failures);
      await database.query(`update mailbox_watch set retry_at = now()`);
    }
    process.refusal = null;
    await process.watches.tick();
    await upIn(process, 1);
    process.watchers.get(account.id)?.onEnd(null);
    await process.watches.tick();
    // The watch had been up only briefly.
    expect(await rowOf(account)).toMatchObject({ failures: 4, up: false, worker: null });
  });

  it('ends watches of accounts that may no longer be watched, and those with old credentials', async () => {
    const [invalid, renewed] = (await watched(2)) as [TestAccount, TestAccount];
    const process = await start();
    await process.watches.tick();
    await upIn(process, 2);
    await database.query(`update "grant" set status = 'invalid' where id = $1`, [invalid.id]);
    await database.query(
      `update "grant" set settings_sealed = settings_sealed || ' ' where id = $1`,
      [renewed.id],
    );
    await process.watches.tick();
    await until(
      'the other watch to start again',
      async () => process.begun.length === 3 && process.watches.count === 1,
    );
    expect([process.watchers.has(invalid.id), process.watchers.has(renewed.id)]).toEqual([
      false,
      true,
    ]);
  });

  it('releases every watch when its process is declared dead', async () => {
    await watched(2);
    const process = await start();
    await process.watches.tick();
    await upIn(process, 2);
    process.current.id = 0;
    await process.watches.tick();
    expect([process.watches.count, process.watchers.size]).toEqual([0, 0]);
  });

  it('rarely asks again for watches that a provider does not support', async () => {
    const [account] = (await watched(1)) as [TestAccount];
    const process = await start();
    process.refusal = new ProviderError('unsupported', 'no IDLE');
    await process.watches.tick();
    await until('the end of the watch to be stored', async () => {
      await process.watches.tick();
      return ((await rowOf(account))?.wait ?? 0) > 3_600;
    });
  });
});
