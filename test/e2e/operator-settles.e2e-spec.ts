import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { run } from '../../src/cli/carillon/program.ts';
import type { OperatorJobDetailsView } from '../../src/operator/jobs/admin-jobs.schema.ts';
import { rowsOf } from '../support/connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { createOperator, type TestOperator } from '../support/operators.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const FOUND_OUT = 'the log of the mail server lists it';

describe('an operator decides an unknown outcome', () => {
  const key = `test:${randomBytes(32).toString('base64')}`;
  let clock: PassingClock;
  let server: TestApp;
  let operator: TestOperator;
  let application: TestApplication;
  let ada: TestAccount;
  let bo: TestAccount;

  beforeAll(async () => {
    clock = new PassingClock();
    server = await startTestApp({ ENCRYPTION_KEYS: key }, { clock });
    operator = await createOperator(server);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    application = await createApplication(server.app);
    bo = await createAccount(server.app, application);
    // Switched off: events are only stored.
    await createWebhook(server.app, application, 'http://127.0.0.1:9/hook', {
      triggers: ['job.delayed', 'job.successful', 'job.failed'],
      state: 'failed',
    });
    ada = await createAccount(server.app, application, { settings: { sent_copies: false } });
  });

  const accept = async (to: string, more: object = {}): Promise<string> => {
    const { body } = await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({ to: [{ email: to }, { email: bo.email }], subject: 'Hi', body: 'Hello', ...more })
      .expect(202);
    return body.job_status_id as string;
  };
  const job = async (id: string): Promise<OperatorJobDetailsView> =>
    (await request(server.url).get(`/admin/jobs/${id}`).set(operator.bearer).expect(200)).body;
  const shown = async (id: string) =>
    (await request(server.url).get(`/job-statuses/${id}?view=expanded`).set(ada.bearer).expect(200))
      .body;
  const reaches = (id: string, state: string) =>
    until(`job ${id} to be ${state}`, async () => {
      const found = await job(id);
      return found.state === state && !found.running && found;
    });
  /** Moves the clock to each look-up. */
  const failsUnknown = (id: string) =>
    until('the look-ups to end', async () => {
      const { state, next_at: nextAt } = await job(id);
      const waitMs = (nextAt ?? 0) * 1000 - clock.now().getTime();
      if (waitMs > 0) await clock.pass(waitMs + 1000);
      return state === 'failed';
    });
  const settle = (id: string, outcome: string, status = 200) =>
    request(server.url)
      .post(`/admin/jobs/${id}/settle`)
      .set(operator.bearer)
      .send({ outcome, reason: FOUND_OUT })
      .expect(status);
  const carillon = async (...args: string[]): Promise<string> => {
    let output = '';
    await run(args, {
      environment: { NODE_ENV: 'test', DATABASE_URL: server.database.url, ENCRYPTION_KEYS: key },
      print: (text) => (output += text),
      write: () => undefined,
    });
    return output;
  };
  const deliveries = async (id: string) => {
    const [row] = await rowsOf<{ n: number }>(
      server,
      `select count(*)::int as n from sandbox_message s join outbox_message m on position(m.message_id_header::bytea in s.mime) > 0
       where m.id = $1 and s.address = $2 and 'inbox' = any(s.folders)`,
      [id, bo.email],
    );
    return row?.n;
  };
  const events = async (id: string) => {
    const rows = await rowsOf<{ type: string }>(
      server,
      `select type from webhook_event where dedupe like 'job:' || $1 || ':%' order by id`,
      [id],
    );
    return rows.map(({ type }) => type);
  };

  it('that the message was not sent, and it is sent again at once', async () => {
    const id = await accept('unknown-lost@sandbox.test');
    expect((await reaches(id, 'delayed')).allowed).toContain('settle');
    const said = await carillon(
      '--json',
      'jobs',
      'settle',
      id,
      '--not-sent',
      '--reason',
      FOUND_OUT,
    );
    expect(JSON.parse(said)).toMatchObject({ id });
    await reaches(id, 'successful');
    expect(await deliveries(id)).toBe(1);
    const { attempts } = await shown(id);
    expect(attempts).toMatchObject([
      { outcome: 'unknown', rule: 'look-up' },
      { outcome: 'not-sent', rule: 'settled', detail: `decided by an operator: ${FOUND_OUT}` },
      { outcome: 'sent', rule: null },
    ]);
    expect(await events(id)).toEqual(['job.delayed', 'job.successful']);
  });

  it('that the message was sent, in the console, and its job is successful', async () => {
    const id = await accept('unknown@sandbox.test');
    await reaches(id, 'delayed');
    const path = `/console/jobs/${id}`;
    const page = await request(server.url).get(path).set(operator.cookie).expect(200);
    expect(page.text).toContain(`href="${path}/settle"`);
    const asked = await request(server.url).get(`${path}/settle`).set(operator.cookie).expect(200);
    expect(asked.text).toContain('Was this message sent?');
    const send = (fields: object, status: number) =>
      request(server.url)
        .post(`${path}/settle`)
        .set(operator.cookie)
        .type('form')
        .send({ csrf_token: operator.csrf, ...fields })
        .expect(status);
    await send({ outcome: 'sent' }, 400);
    await send({ outcome: 'sent', reason: FOUND_OUT }, 303);
    expect(await job(id)).toMatchObject({ state: 'successful', allowed: [] });
    expect(await deliveries(id)).toBe(1);
    expect((await shown(id)).recipients.accepted).toContain(bo.email);
    expect(await events(id)).toEqual(['job.delayed', 'job.successful']);
    await settle(id, 'not-sent', 409);
    expect(
      await rowsOf(
        server,
        'select action, actor_name as name, details from audit_entry where target_id = $1',
        [id],
      ),
    ).toEqual([
      {
        action: 'job.settle',
        name: operator.name,
        details: { kind: 'message', outcome: 'sent', reason: FOUND_OUT },
      },
    ]);
  });

  it('of a message that has failed: it was sent after all', async () => {
    const id = await accept('unknown-lost@sandbox.test', { on_unknown: 'fail' });
    await failsUnknown(id);
    expect((await job(id)).allowed).toEqual(['settle']);
    const { body } = await settle(id, 'sent');
    expect(body).toMatchObject({ state: 'successful', reason: null, allowed: [] });
    expect((await shown(id)).attempts.at(-1)).toMatchObject({ outcome: 'sent', rule: 'settled' });
    expect(await events(id)).toEqual(['job.delayed', 'job.failed', 'job.successful']);
  });

  it('of a message that has failed: it was certainly not sent', async () => {
    const id = await accept('unknown-lost@sandbox.test', { on_unknown: 'fail' });
    await failsUnknown(id);
    const { body } = await settle(id, 'not-sent');
    const reason = `not sent, as an operator found out: ${FOUND_OUT}`;
    expect(body).toMatchObject({ state: 'failed', reason, allowed: [] });
    expect(await events(id)).toEqual(['job.delayed', 'job.failed', 'job.failed']);
    expect(await deliveries(id)).toBe(0);
    await settle(id, 'sent', 409);
  });

  it('of a message whose deadline has passed, and it is not sent', async () => {
    const id = await accept('unknown-lost@sandbox.test', { retry_limit_datetime: 0 });
    await reaches(id, 'delayed');
    const { body } = await settle(id, 'not-sent');
    expect(body).toMatchObject({ state: 'failed', reason: expect.stringContaining(FOUND_OUT) });
    expect(await deliveries(id)).toBe(0);
  });

  it('only if there is one', async () => {
    const sendAt = Math.floor(clock.now().getTime() / 1000) + 3600;
    const id = await accept('a@b.test', { send_at: sendAt });
    expect((await job(id)).allowed).not.toContain('settle');
    const { body } = await settle(id, 'sent', 409);
    expect(JSON.stringify(body)).toContain('no attempt has an unknown outcome');
    await expect(carillon('jobs', 'settle', id, '--reason', 'x')).rejects.toThrow(
      'add --sent or --not-sent',
    );
  });
});
