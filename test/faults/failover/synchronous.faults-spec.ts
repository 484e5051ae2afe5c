import { createApp } from '../../../src/app/app.ts';
import { loadConfig } from '../../../src/platform/config/app-config.ts';
import { SqlPool } from '../../../src/platform/database/sql.ts';
import { readStandbys } from '../../../src/platform/health/standby-state.ts';
import { expectPromiseKept } from '../../support/fault-figures.ts';
import { call, postMessages } from '../../support/fault-load.ts';
import type { TestAccount } from '../../support/factories.ts';
import { FaultWorld } from '../../support/fault-world.ts';
import { describeWith } from '../../support/mail-servers/installed.ts';
import { judge } from '../../support/promtool.ts';
import { type MetricsPage, parseMetrics, total } from '../../support/metrics-page.ts';
import { createOperator, type TestOperator } from '../../support/operators.ts';
import { ReplicatedPostgres } from '../../support/replication/replicated-postgres.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { sized } from '../../support/sized.ts';
import { until } from '../../support/until.ts';

interface Check {
  name: string;
  problem?: string;
}

const COMMIT_WAIT = 'carillon_database_commit_wait_seconds';
/** How long commits wait. Meanwhile, servers must begin no more of them. */
const GONE_SECONDS = sized(10, 60);
const LAG = 'carillon_database_standby_lag_bytes';
/** Writes 100 MB to the write-ahead log. */
const WRITE_MUCH = `select pg_logical_emit_message(false, 'test', repeat('x', 1000000)) from generate_series(1, 100)`;

describe('a synchronous standby', () => {
  let pair: ReplicatedPostgres;
  let world: FaultWorld;
  /** Its role sees everything about standbys. */
  let seeing: ServerProcess;
  /** Its role is ordinary, and it demands a synchronous standby. */
  let ordinary: ServerProcess;
  let ordinaryUrl: string;
  let account: TestAccount;
  let operator: TestOperator;
  let healthy: MetricsPage;
  /** Of the server that demands a synchronous standby. */
  let expecting: MetricsPage;
  let waiting: MetricsPage;
  let unconfigured: MetricsPage;
  /** Of the server to which one server without standbys is fine. */
  let alone: MetricsPage;
  let lagging: MetricsPage;

  beforeAll(async () => {
    pair = await ReplicatedPostgres.start({ synchronous: true });
    world = await FaultWorld.start({ accounts: 2, databaseUrl: pair.primary.url });
    await world.sql.query('create role ordinary login');
    await world.sql.query('grant all on all tables in schema public to ordinary');
    await world.sql.query('grant all on all sequences in schema public to ordinary');
    ordinaryUrl = pair.primary.url.replace('postgres@', 'ordinary@');
    [seeing, ordinary] = await Promise.all([
      world.startServer(),
      world.startServer({
        DATABASE_URL: ordinaryUrl,
        DATABASE_SYNCHRONOUS: 'required',
        ROLES: 'api',
      }),
    ]);
    account = world.accounts[0] as TestAccount;
    const app = await createApp(
      loadConfig({ ...world.environment, ROLES: 'api', LOG_LEVEL: 'silent' }),
    );
    await app.init();
    operator = await createOperator({ app });
    await app.close();
    // Otherwise the console would not store the use of the session again.
    await world.sql.query(`update operator_session set last_used_at = now() - interval '2 min'`);
  });
  afterAll(async () => {
    await world.close();
    await pair.close();
  });

  const problem = async (server: ServerProcess) => {
    const response = await fetch(`${server.url}/health/ready`);
    const { checks } = (await response.json()) as { checks: Check[] };
    return checks.find(({ name }) => name === 'standby')?.problem ?? null;
  };
  const post = (server: ServerProcess, key: string) =>
    call(server, account, 'POST', '/v2/outbox', {
      body: { to: [{ email: 'to@sink.test' }], subject: key, body: 'Hello' },
      headers: { 'Idempotency-Key': key },
    });
  /** Sessions of the primary that wait for the standby. */
  const waitingSessions = () =>
    world.count(`select count(*) as n from pg_stat_activity where wait_event = 'SyncRep'`);
  const page = async (server = seeing): Promise<MetricsPage> =>
    parseMetrics(await (await fetch(`${server.url}/metrics`)).text());
  const standbysOf = async (url: string) => {
    const sql = new SqlPool({ url, max: 1, statementTimeoutMs: 2_000, applicationName: 'test' });
    try {
      return await readStandbys(sql);
    } finally {
      await sql.close();
    }
  };

  it('is seen by every role; what it lacks only with pg_monitor', async () => {
    const common = { synchronous: true, standbys: 1, missing: false, waiting: [] };
    expect(await standbysOf(ordinaryUrl)).toEqual({ ...common, lags: [] });
    await world.sql.query('grant pg_monitor to ordinary');
    const lags = [{ name: 'standby', bytes: expect.any(Number) as number }];
    expect(await standbysOf(ordinaryUrl)).toMatchObject({ ...common, lags });
    await world.sql.query('revoke pg_monitor from ordinary');
    healthy = await page();
    expecting = await page(ordinary);
    expect(total(healthy, 'carillon_database_synchronous')).toBe(1);
    expect(total(healthy, 'carillon_database_standbys')).toBe(1);
    expect(healthy.has(`${LAG}{standby="standby"}`)).toBe(true);
  });

  it('that does not answer makes servers not ready and changes fail, but not reads; no message is lost or doubled', async () => {
    expect([await problem(seeing), await problem(ordinary)]).toEqual([null, null]);
    pair.replication.block();
    const unconfirmed = post(ordinary, 'unconfirmed');
    const waits = 'commits have been waiting for a synchronous standby for more than 3 s';
    for (const server of [seeing, ordinary])
      await until('the server not to be ready', async () => (await problem(server)) === waits);
    const refused = {
      status: 503,
      body: { message: expect.stringContaining('nothing was stored') as string },
    };
    for (const server of [seeing, ordinary]) {
      expect(await post(server, 'refused')).toMatchObject(refused);
      const list = await fetch(`${server.url}/calendars`, { headers: account.bearer });
      expect(list.status).toBe(200);
    }
    expect(await unconfirmed).toMatchObject({
      status: 503,
      body: { message: expect.stringContaining('may be stored') as string },
    });

    waiting = await until('the metrics to show it', async () => {
      const now = await page();
      return total(now, COMMIT_WAIT) > 5 && now;
    });
    const left = await waitingSessions();
    expect(left).toBeGreaterThan(0);
    for (const server of [seeing, ordinary]) {
      const overview = await fetch(`${server.url}/console`, { headers: operator.cookie });
      expect(overview.status).toBe(200);
      expect(await overview.text()).toContain('synchronous standby');
    }
    const late = world.startServer();
    await until(
      'background work to be due many times',
      async () => total(await page(), COMMIT_WAIT) > GONE_SECONDS,
      2 * GONE_SECONDS * 1_000,
    );
    expect(await problem(await late)).toBe(waits);
    expect(await waitingSessions()).toBe(left);

    pair.replication.reset();
    await until(
      'the server to miss its standby',
      async () =>
        (await problem(seeing)) === 'commits wait for a synchronous standby that is not connected',
    );
    pair.replication.unblock();
    for (const server of [seeing, ordinary])
      await until('the server to be ready', async () => (await problem(server)) === null);
    const accepted = await postMessages(world, {
      messages: 4,
      server: (n) => (n % 2 ? seeing : ordinary),
    });
    for (const key of ['unconfirmed', 'refused']) {
      const answer = await post(ordinary, key);
      expect(answer?.status).toBe(202);
      accepted.push(String(answer?.body.job_status_id));
    }
    await world.settled();
    const { messages } = await expectPromiseKept(world, {
      test: 'the synchronous standby is gone, and comes back',
      faults: '1 block, 1 reset',
      accepted,
    });
    expect(messages).toBe(6);
    expect(await world.sql.query('select from lost_worker')).toEqual([]);
  });

  it('that is no longer configured makes servers not ready that require one', async () => {
    await pair.setSynchronous(false);
    await until(
      'the server to say so',
      async () =>
        (await problem(ordinary)) ===
        'DATABASE_SYNCHRONOUS is required, but commits wait for no standby',
    );
    expect((await post(ordinary, 'unsafe'))?.status).toBe(503);
    expect(await problem(seeing)).toBeNull();
    expect((await post(seeing, 'unsafe'))?.status).toBe(202);
    [unconfigured, alone] = [await page(ordinary), await page(seeing)];
  });

  it('that falls behind is in the metrics', async () => {
    pair.replication.block();
    await world.sql.query(WRITE_MUCH);
    lagging = await until('the metrics to show it', async () => {
      const now = await page();
      return total(now, LAG) > 64 * 1024 * 1024 && now;
    });
    pair.replication.unblock();
    await pair.caughtUp();
  });

  describeWith(['promtool'], 'the alerts', () => {
    it('report commits that wait', async () => {
      expect(await judge('CarillonCommitsWait', healthy, waiting)).toBe('');
    });

    it('report that no synchronous standby is configured, where one is expected', async () => {
      expect(await judge('CarillonCommitsNotSynchronous', expecting, unconfigured)).toBe('');
      expect(await judge('CarillonCommitsNotSynchronous', healthy, alone)).not.toBe('');
    });

    it('report a standby that lags', async () => {
      expect(await judge('CarillonStandbyLags', healthy, lagging)).toBe('');
    });
  });
});
