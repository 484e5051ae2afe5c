import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { run } from '../../../src/cli/carillon/program.ts';
import { createAccount, createApplication } from '../../support/factories.ts';
import { createOperator } from '../../support/operators.ts';
import { checkMetric, overviewOf, readyOf } from '../../support/operators-view.ts';
import { operatorsOf, startServerProcess } from '../../support/server-process.ts';
import { startTestApp } from '../../support/test-app.ts';
import { copyTestDatabase, createTestDatabase } from '../../support/test-database.ts';
import { until } from '../../support/until.ts';

describe('a database that was restored under another name', () => {
  it('makes its worker not ready, which metric, overview and log report, and nothing is sent until an operator confirms it', async () => {
    const keys = { ENCRYPTION_KEYS: `k:${randomBytes(32).toString('base64')}` };
    const original = await createTestDatabase();
    const start = (DATABASE_URL: string, ROLES: string) =>
      startTestApp({ ...keys, DATABASE_URL, ROLES });
    // The first worker claims the database for its installation.
    const first = await start(original.url, 'api,worker');
    const ada = await createAccount(first.app, await createApplication(first.app));
    await until('the worker to work', async () => (await readyOf(first)).status === 200);
    await first.close();
    const accepting = await start(original.url, 'api');
    const { body: accepted } = await request(accepting.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({ to: [{ email: 'bo@sandbox.test' }], subject: 'Due in the backup', body: 'Hello' })
      .expect(202);
    await accepting.close();
    const restored = await copyTestDatabase(original);

    const server = await start(restored.url, 'api');
    const operator = await createOperator(server);
    const worker = await startServerProcess({
      ...keys,
      DATABASE_URL: restored.url,
      ROLES: 'worker',
      NODE_ENV: 'test',
      OPERATOR_PORT: '0',
      EGRESS_ALLOW: '127.0.0.0/8',
    });
    const problem = expect.stringMatching(
      /^this database was restored or moved \(database, address\); nothing is sent/,
    );
    await until('the worker to see it', async () => 'instance' in (await readyOf(worker)).failing);
    expect(await readyOf(worker)).toEqual({ status: 503, failing: { instance: problem } });
    expect(await checkMetric({ url: operatorsOf(worker) }, 'instance')).toBe(0);
    expect(worker.output()).toContain('This database was restored or moved: ');
    const lines = await until('the overview to name the process', async () => {
      const all = await overviewOf(server, operator);
      return all.some(({ text }) => text.includes(`process ${worker.pid} on`)) && all;
    });
    const titled = (title: unknown) => expect.objectContaining({ tone: 'bad', title });
    expect(lines).toContainEqual(titled(expect.stringMatching(/^Not ready: instance this data/)));
    expect(lines).toContainEqual(titled('No worker is running'));
    // The API of the copy works, and the message still waits.
    expect(await readyOf(server)).toEqual({ status: 200, failing: {} });
    const statusOf = async () => {
      const { job_status_id: id } = accepted as { job_status_id: string };
      const { body } = await request(server.url).get(`/job-statuses/${id}`).set(ada.bearer);
      return (body as { status: string }).status;
    };
    expect(await statusOf()).toBe('pending');

    await run(['instance', 'confirm', '--yes'], {
      environment: { ...keys, DATABASE_URL: restored.url },
      print: () => {},
      write: () => {},
    });
    await until('the worker to be ready', async () => (await readyOf(worker)).status === 200);
    expect(await checkMetric({ url: operatorsOf(worker) }, 'instance')).toBe(1);
    await until('the message to be sent', async () => (await statusOf()) === 'successful');
    expect((await overviewOf(server, operator)).map(({ title }) => title)).not.toContain(
      'No worker is running',
    );
    await worker.stop();
    await server.close();
    await Promise.all([original.drop(), restored.drop()]);
  });
});
