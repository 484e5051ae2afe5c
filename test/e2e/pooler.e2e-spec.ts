import fs from 'node:fs';
import request from 'supertest';
import { commitWaits } from '../../src/platform/database/commit-waits.ts';
import { Database, SqlPool } from '../../src/platform/database/sql.ts';
import { WORKER_LOCKS } from '../../src/platform/work/queue/queue-statements.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { PgBouncer, type PgBouncerSettings } from '../support/pgbouncer.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

/** What docs/network.md tells a pooler of transactions to run on its connections. */
const [, CONNECT_QUERY = ''] =
  /connect_query='([^']+)'/.exec(fs.readFileSync('docs/network.md', 'utf8')) ?? [];

describeWith(['pgbouncer'], 'behind PgBouncer', () => {
  let database: TestDatabase;
  let direct: SqlPool;
  const servers: TestApp[] = [];
  const poolers: PgBouncer[] = [];

  beforeEach(async () => {
    database = await createTestDatabase();
    direct = new SqlPool({
      url: database.url,
      max: 2,
      statementTimeoutMs: 5_000,
      applicationName: 'test',
    });
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
    for (const pooler of poolers.splice(0)) await pooler.stop();
    await direct.close();
    await database.drop();
  });

  const pooler = async (settings: PgBouncerSettings) => {
    const started = await PgBouncer.start(database.url, settings);
    poolers.push(started);
    return started;
  };
  const serve = async (environment: Record<string, string>) => {
    const server = await startTestApp(environment);
    servers.push(server);
    return server;
  };
  const connect = async ({ app }: TestApp) =>
    createAccount(app, await createApplication(app), { email: 'ada@sandbox.test', mirrored: true });

  it('of sessions, connections are left whose commits wait for a synchronous standby', async () => {
    const { url } = await pooler({ pool_mode: 'session', default_pool_size: 2 });
    const pooled = new SqlPool({
      url,
      max: 1,
      statementTimeoutMs: 30_000,
      applicationName: 'test',
    });
    const [row] = await pooled.query<{ session: number }>('select pg_backend_pid() as session');
    const waiting = pooled.query('select pg_sleep(20)').catch((error: unknown) => error);
    try {
      await until('the statement to run', async () => {
        const running = `select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'`;
        return (await direct.query(running, [row?.session])).length === 1;
      });
      commitWaits.note(true, [row?.session ?? 0]);
      expect(await waiting).toMatchObject({ code: 'UNCONFIRMED' });
    } finally {
      commitWaits.note(false, []);
      await pooled.close();
    }
  });

  it('of sessions, a new client of an old session has the columns of its own statements', async () => {
    const { url } = await pooler({ pool_mode: 'session', default_pool_size: 1 });
    const client = () =>
      new SqlPool({ url, max: 1, statementTimeoutMs: 5_000, applicationName: 'test' });
    await direct.query('create table changing (value) as select 7');
    const read = async () => {
      const pooled = client();
      const [session] = await pooled.query('select pg_backend_pid() as session');
      const rows = [
        await pooled.query('select * from changing'),
        await pooled.query('select * from changing'),
      ];
      await pooled.close();
      return { session, rows };
    };
    const before = await read();
    expect(before.rows).toEqual([[{ value: 7 }], [{ value: 7 }]]);
    await direct.query(`alter table changing alter value type text using 'seven'`);
    const seven = [{ value: 'seven' }];
    expect(await read()).toEqual({ session: before.session, rows: [seven, seven] });
  });

  const settingsOf = (sql: Pick<SqlPool, 'query'>) =>
    sql.query(
      `select name, setting from pg_settings
       where name in ('statement_timeout', 'lock_timeout', 'jit', 'random_page_cost') order by name`,
    );
  const SETTINGS = [
    { name: 'jit', setting: 'off' },
    { name: 'lock_timeout', setting: '7500' },
    { name: 'random_page_cost', setting: '1.1' },
    { name: 'statement_timeout', setting: '15000' },
  ];

  /** Sends a message and waits until it is in the list of messages. */
  const send = async ({ url }: TestApp, { bearer }: TestAccount, subject: string) => {
    const body = { to: [{ email: 'bo@example.test' }], subject, body: '<p>Hi</p>' };
    const accepted = await request(url).post('/v2/outbox').set(bearer).send(body);
    expect(accepted.status).toBe(202);
    const id = accepted.body.job_status_id as string;
    await until('the message to be sent', async () => {
      const job = await request(url).get(`/job-statuses/${id}`).set(bearer);
      expect(job.status).toBe(200);
      return job.body.status === 'successful';
    });
  };

  it('pools sessions for processes of all roles, which keep their settings, locks and notifications', async () => {
    const { url } = await pooler({ pool_mode: 'session', default_pool_size: 40 });
    const server = await serve({ DATABASE_URL: url, DATABASE_CONNECTIONS: '20' });
    const ada = await connect(server);
    const latest = await request(server.url).post('/delta/latest_cursor').set(ada.bearer);
    const waiting = request(server.url)
      .get(`/delta/longpoll?timeout=60&cursor=${latest.body.cursor}`)
      .set(ada.bearer);
    const [news] = await Promise.all([waiting, send(server, ada, 'through a pooler')]);
    expect(news.body.deltas.length).toBeGreaterThan(0);
    expect(await settingsOf(server.app.get(Database))).toEqual(SETTINGS);
    const holders = () =>
      direct.query(
        `select 1 from pg_locks where locktype = 'advisory' and classid = $1 and objsubid = 2
        and database = (select oid from pg_database where datname = current_database())`,
        [WORKER_LOCKS],
      );
    expect(await holders()).toHaveLength(1);
    await server.close();
    servers.length = 0;
    // The pooler keeps the connection, but resets its session.
    await until('the lock of the worker to be free', async () => (await holders()).length === 0);
  });

  it('pools transactions for processes with the role api, with fewer connections than requests', async () => {
    const pooling = await pooler({
      pool_mode: 'transaction',
      default_pool_size: 3,
      connect_query: CONNECT_QUERY,
    });
    await serve({ DATABASE_URL: database.url, ROLES: 'worker' });
    const { url } = pooling;
    const api = await serve({ DATABASE_URL: url, ROLES: 'api', DATABASE_POOLING: 'transaction' });
    const ada = await connect(api);
    await Promise.all(
      Array.from({ length: 12 }, (_, number) => send(api, ada, `number ${number}`)),
    );
    const lists = await Promise.all(
      Array.from({ length: 30 }, (_, number) =>
        request(api.url)
          .get(number % 2 ? '/messages' : '/job-statuses')
          .set(ada.bearer),
      ),
    );
    expect(new Set(lists.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await settingsOf(api.app.get(Database))).toEqual(SETTINGS);
    const kept = await api.app.get(Database).query('select name from pg_prepared_statements');
    expect(kept).toEqual([]);
    expect(pooling.opened).toBeLessThanOrEqual(3);
  });

  it('refuses to pool transactions for a worker', async () => {
    await expect(
      startTestApp({ ROLES: 'worker', DATABASE_POOLING: 'transaction' }),
    ).rejects.toThrow('DATABASE_POOLING: transaction is only for processes with ROLES=api');
  });
});
