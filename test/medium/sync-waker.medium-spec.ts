import { randomUUID } from 'node:crypto';
import { signals } from '../../src/platform/work/signals.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector } from '../../src/providers/port/connector.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { SyncWaker } from '../../src/sync/sync-waker.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

describe('SyncWaker', () => {
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  let waker: SyncWaker;
  const wakes: string[] = [];
  let deaf: () => void;
  let tell: (mailbox: { applicationId: string; email: string }) => void;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    deaf = signals.listen((signal) => signal.kind === 'due' && wakes.push(signal.queue));
    application = await createApplication(server.app);
  });
  afterAll(() => {
    deaf();
    return server.close();
  });

  /**
   * Starts a waker over a database that may fail, with a connector that reports changes for the
   * test.
   */
  function start(over: Pick<Database, 'query'> = database): void {
    const connector = {
      name: 'sandbox',
      mail: {
        onChange: (listener: typeof tell) => {
          tell = listener;
          return () => (tell = () => undefined);
        },
      },
    } as unknown as Connector;
    waker = new SyncWaker(over as Database, new ConnectorRegistry([connector]));
    waker.onModuleInit();
  }
  afterEach(() => waker.onModuleDestroy());

  /** An account whose next sync pass is far away. */
  async function waiting(
    overrides: Parameters<typeof createAccount>[2] = {},
  ): Promise<TestAccount> {
    const account = await createAccount(server.app, application, overrides);
    await scheduleSync(database, account.id);
    await database.query(
      `update sync_job set run_at = now() + interval '1 h' where account_id = $1`,
      [account.id],
    );
    return account;
  }
  const isDue = async ({ id }: TestAccount): Promise<boolean> => {
    const [row] = await database.query<{ due: boolean }>(
      `select run_at <= now() and again as due from sync_job where account_id = $1`,
      [id],
    );
    return row?.due ?? false;
  };

  it('makes the accounts of changed mailboxes due, and wakes the queue', async () => {
    start();
    const [one, two, other] = [await waiting(), await waiting(), await waiting()];
    wakes.length = 0;
    for (const { email } of [one, two, one]) tell({ applicationId: application.id, email });
    await until('both accounts to be due', async () => (await isDue(one)) && (await isDue(two)));
    expect(await isDue(other)).toBe(false);
    await until('the wake', async () => wakes.length > 0);
    expect(wakes).toEqual(['sync']);
  });

  it('ignores unknown mailboxes and accounts with refused credentials', async () => {
    start();
    const invalid = await waiting({ status: 'invalid' });
    const mine = await waiting();
    wakes.length = 0;
    tell({ applicationId: randomUUID(), email: mine.email });
    tell({ applicationId: application.id, email: 'nobody@sandbox.test' });
    tell({ applicationId: application.id, email: invalid.email });
    await waker.onModuleDestroy();
    expect([await isDue(mine), await isDue(invalid)]).toEqual([false, false]);
    expect(wakes).toEqual([]);
  });

  it('stores the due time later when the database could not be reached', async () => {
    let failures = 1;
    start({
      query: (...arguments_) =>
        failures-- > 0
          ? Promise.reject(new Error('connection lost'))
          : database.query(...arguments_),
    });
    const one = await waiting();
    tell({ applicationId: application.id, email: one.email });
    await until('the account to be due', () => isDue(one));
    expect(failures).toBeLessThan(0);
  });

  it('stores what it has collected before the process ends', async () => {
    start();
    const one = await waiting();
    tell({ applicationId: application.id, email: one.email });
    await waker.onModuleDestroy();
    expect(await isDue(one)).toBe(true);
  });
});
