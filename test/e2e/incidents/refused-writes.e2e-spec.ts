import request from 'supertest';
import { requestCounts } from '../../../src/platform/request-counts/request-counts.ts';
import { loggedLines } from '../../support/log-watch.ts';
import { createAccount, createApplication, type TestAccount } from '../../support/factories.ts';
import { createOperator, type TestOperator } from '../../support/operators.ts';
import { checkMetric, overviewOf, readyOf } from '../../support/operators-view.ts';
import { type SmallDisk, toSmallDisk } from '../../support/small-disk.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { createTestDatabase, onTestServer } from '../../support/test-database.ts';

const FAILED = /requests answered with 5xx in the last 5 minutes$/;

/** A message that does not fit into the space that a full table still has. */
const message = (account: TestAccount, kilobytes: number) => ({
  subject: 'Large',
  to: [{ email: account.email }],
  body: Array.from({ length: kilobytes * 32 }, (_, line) => `${line} ${Math.random()}`).join('\n'),
  send_at: Math.floor(Date.now() / 1000) + 3_600,
});

describe('a database that refuses writes', () => {
  let server: TestApp;
  let operator: TestOperator;
  let ada: TestAccount;
  let disk: SmallDisk | null;

  async function start(url: string): Promise<void> {
    server = await startTestApp({ ROLES: 'api', DATABASE_URL: url });
    operator = await createOperator(server);
    ada = await createAccount(server.app, await createApplication(server.app));
    expect(await readyOf(server)).toEqual({ status: 200, failing: {} });
    // Suites that ran before in this process have left their counts.
    requestCounts.take();
  }
  const send = () => request(server.url).post('/v2/outbox').set(ada.bearer).send(message(ada, 512));
  /** Asserts that probe, metric, overview and log report a problem of the database. */
  async function expectReported(problem: string): Promise<void> {
    expect(await readyOf(server)).toEqual({ status: 503, failing: { database: problem } });
    expect(await checkMetric(server, 'database')).toBe(0);
    expect(await overviewOf(server, operator)).toContainEqual({
      tone: 'bad',
      title: `Not ready: database ${problem}`,
      text: expect.stringContaining('Requests that write get 503'),
      link: '/console/capacity',
    });
    expect(loggedLines().some((line) => line.includes(`not ready: database ${problem}`))).toBe(
      true,
    );
  }

  it('because its disk is full makes readiness, metric and overview red, and nothing is accepted', async () => {
    disk = await toSmallDisk(await createTestDatabase());
    if (disk === null) {
      process.stderr.write('not tested: a full disk, because only root may mount one\n');
      return;
    }
    await start(disk.database.url);
    disk.fill();
    for (const { status, body } of [await send(), await send(), await send()])
      expect([status, body]).toEqual([503, expect.objectContaining({ type: 'database_error' })]);
    const problem = 'has no disk space left, so it stores nothing (53100)';
    await expectReported(problem);
    const line = (await overviewOf(server, operator)).find(({ title }) => FAILED.test(title));
    expect(line).toMatchObject({
      tone: 'bad',
      title: expect.stringMatching(/^3 of \d requests answered with 5xx/),
      text: expect.stringContaining(
        `Most often (3): POST /v2/outbox with 503, the database ${problem}`,
      ),
      link: '/console/failed-requests',
    });
    const page = await request(server.url).get('/console/failed-requests').set(operator.cookie);
    expect(page.text).toContain('has no disk space left');
    disk.free();
    await send().expect(202);
    await server.close();
    await disk.remove();
  });

  it('because it is read-only is reported before anything is written', async () => {
    const database = await createTestDatabase();
    await start(database.url);
    const name = new URL(database.url).pathname.slice(1);
    await onTestServer(async (client) => {
      await client.query(`alter database ${name} set default_transaction_read_only = on`);
      // Sessions keep the setting that they began with.
      await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`,
        [name],
      );
    });
    await expectReported('is read-only, so it stores nothing (25006)');
    expect((await send()).status).toBe(503);
    await server.close();
    await database.drop();
  });
});
