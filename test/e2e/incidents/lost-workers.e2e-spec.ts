import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { createAccount, createApplication } from '../../support/factories.ts';
import { readMetrics, total } from '../../support/metrics-page.ts';
import { createOperator } from '../../support/operators.ts';
import { overviewOf, readyOf } from '../../support/operators-view.ts';
import { operatorsOf, startServerProcess } from '../../support/server-process.ts';
import { startTestApp } from '../../support/test-app.ts';
import { until } from '../../support/until.ts';

describe('a worker that stands still beside one that is killed', () => {
  it('are missing in metrics and overview, and named there and in the log of the worker that takes over their work', async () => {
    const ENCRYPTION_KEYS = `k:${randomBytes(32).toString('base64')}`;
    const server = await startTestApp({ ROLES: 'api', ENCRYPTION_KEYS });
    const operator = await createOperator(server);
    const ada = await createAccount(server.app, await createApplication(server.app));
    const environment = {
      DATABASE_URL: server.database.url,
      ENCRYPTION_KEYS,
      ROLES: 'worker',
      NODE_ENV: 'test',
      OPERATOR_PORT: '0',
      EGRESS_ALLOW: '127.0.0.0/8',
    };
    const [frozen, killed] = await Promise.all([
      startServerProcess(environment),
      startServerProcess(environment),
    ]);
    const titles = async () => (await overviewOf(server, operator)).map(({ title }) => title);
    const workers = async (state: string) =>
      total(await readMetrics(server), 'carillon_workers', { state });
    await until('both workers to work', async () => (await workers('alive')) === 2);
    expect(await titles()).not.toContain('No worker is running');

    frozen.pause();
    await killed.kill();
    const probe = request(frozen.url).get('/health/ready').timeout(1_000);
    await expect(probe).rejects.toThrow(/timeout/i);
    await expect(request(killed.url).get('/health/ready')).rejects.toThrow(/ECONNREFUSED/);
    // The API is not ill: it accepts messages, which wait.
    expect(await readyOf(server)).toEqual({ status: 200, failing: {} });
    const { body: accepted } = await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({ to: [{ email: 'bo@sandbox.test' }], subject: 'Hello', body: 'Hello' })
      .expect(202);
    await until('the overview to miss the workers', async () =>
      (await titles()).includes('No worker is running'),
    );
    expect([await workers('alive'), await workers('silent')]).toEqual([0, 2]);

    const successor = await startServerProcess(environment);
    await until('the message to be sent', async () => {
      const { job_status_id: id } = accepted as { job_status_id: string };
      const { body } = await request(server.url).get(`/job-statuses/${id}`).set(ada.bearer);
      return (body as { status: string }).status === 'successful';
    });
    const lost = await until('the overview to name both workers', async () => {
      const lines = await overviewOf(server, operator);
      const found = lines.filter(({ title }) => /^Worker \d+ was lost/.test(title));
      return found.length === 2 && found;
    });
    for (const { pid } of [frozen, killed])
      expect(lost).toContainEqual(
        expect.objectContaining({
          tone: 'warning',
          text: expect.stringContaining(`Process ${pid} on`),
        }),
      );
    expect(await titles()).not.toContain('No worker is running');
    expect(
      total(await readMetrics({ url: operatorsOf(successor) }), 'carillon_worker_deaths_total'),
    ).toBe(2);
    for (const { pid } of [frozen, killed])
      expect(successor.output()).toMatch(
        new RegExp(`no heartbeat for 8 seconds, so frozen or gone:[^\\n]* process ${pid} on`),
      );

    frozen.resume();
    await until('the overview to say that the frozen worker works again', async () =>
      (await overviewOf(server, operator)).some(
        ({ text }) =>
          text.startsWith(`Process ${frozen.pid} on`) && text.includes('It runs now as worker'),
      ),
    );
    expect(await readyOf(frozen)).toEqual({ status: 200, failing: {} });
    await Promise.all([frozen.stop(), successor.stop()]);
    await server.close();
  });
});
