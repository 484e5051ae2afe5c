import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { rowsOf } from '../support/connect.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { createOperator, type TestOperator } from '../support/operators.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const IN_A_WEEK = 7 * 86_400;
const PATH = '/console/instance';

describe('a restored database in the console', () => {
  let server: TestApp;
  let workers: TestApp;
  let operator: TestOperator;
  let ada: TestAccount;

  /** A worker of an installation on the same database. */
  const installation = (name: string) =>
    startTestApp({ DATABASE_URL: server.database.url, INSTANCE_NAME: name, ROLES: 'worker' });

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    operator = await createOperator(server);
    ada = await createAccount(server.app, await createApplication(server.app));
    const before = await installation('before');
    await before.close();
    workers = await installation('after');
  });
  afterAll(async () => {
    await workers.close();
    await server.close();
  });

  const page = async (path: string): Promise<string> =>
    (await request(server.url).get(path).set(operator.cookie).expect(200)).text;
  const confirm = (fields: object, type = 'form') =>
    request(server.url)
      .post(`${PATH}/confirm`)
      .type(type)
      .set(operator.cookie)
      .redirects(0)
      .send({ csrf_token: operator.csrf, ...fields });
  const shownOn = (text: string): string => /name="shown" value="([^"]*)"/.exec(text)?.[1] ?? '';
  const accept = async (): Promise<string> => {
    const { body } = await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({
        to: [{ email: 'bo@sandbox.test' }],
        subject: 'Hi',
        body: 'Hello',
        send_at: Math.floor(Date.now() / 1000) + IN_A_WEEK,
      })
      .expect(202);
    return body.job_status_id as string;
  };
  const audited = () =>
    rowsOf(
      server,
      `select actor_name as actor, action, details from audit_entry where action like 'instance.%' order by id`,
    );
  const statusOf = async (id: string): Promise<string> =>
    (await request(server.url).get(`/job-statuses/${id}`).set(ada.bearer).expect(200)).body.status;

  it('is confirmed for the workers that refuse it, although the console is served by another process', async () => {
    const id = await accept();
    await until('a worker to refuse the database', async () =>
      (await page(PATH)).includes('refused by workers'),
    );
    const question = await page(`${PATH}/confirm`);
    expect(question).toMatch(/Installation.*before.*after.*differs/s);
    expect(question).toContain('Nothing has been changed yet');
    // A page that shows other differences confirms nothing.
    await confirm({ shown: 'something else', cancel_sends: 'all' }).expect(409);
    await confirm({ shown: shownOn(question), cancel_sends: 'some' }).expect(400);
    for (const field of [
      { pause_webhooks: 'yes' },
      { pause_webhooks: true },
      { cancel_sends: ['all'] },
      { cancel_reminders: null },
    ])
      await confirm({ shown: shownOn(question), ...field }, 'json').expect(400);
    expect(await statusOf(id)).toBe('pending');

    // While one confirmation cancels messages, another one is refused.
    const wanted = { shown: shownOn(question), cancel_sends: 'all' };
    const [first] = await server.app.get(Database).transaction(async (sql) => {
      await sql.query('select 1 from job_status where id = $1 for update', [id]);
      const running = confirm(wanted).then((response) => response);
      await until('the first confirmation to begin', async () => (await audited()).length === 1);
      await confirm(wanted).expect(409);
      expect(await audited()).toEqual([
        {
          actor: operator.name,
          action: 'instance.confirm',
          details: expect.objectContaining({
            differences: expect.stringContaining('before'),
            cancel_sends: 'all',
            cancel_reminders: 'none',
            pause_webhooks: false,
          }),
        },
      ]);
      return [running];
    });
    const { status, headers } = await first;
    expect(status).toBe(303);
    expect(headers['location']).toBe(`${PATH}?done=instance-confirmed`);
    expect(await statusOf(id)).toBe('cancelled');
    await until('the worker to begin', async () => {
      const { status } = await request(workers.url).get('/health/ready');
      return status === 200;
    });
    expect(await page(PATH)).toMatch(/in use.*after/s);
    expect((await audited())[1]).toEqual({
      actor: operator.name,
      action: 'instance.confirmed',
      details: { messages_cancelled: 1, reminders_cancelled: 0, webhooks_paused: 0 },
    });

    // A button that is pressed twice cancels nothing that was accepted since.
    const later = await accept();
    await confirm({ shown: shownOn(question), cancel_sends: 'all' }).expect(409);
    expect(await statusOf(later)).toBe('pending');
  });
});
