import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { LogLevels } from '../../src/platform/log-level/log-levels.ts';
import { isLogged } from '../../src/platform/logs/levels.ts';
import { FilingConnector } from '../support/filing-connector.ts';
import { loggedLines } from '../support/log-watch.ts';
import { createOperator } from '../support/operators.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { agreeable, Receiver } from '../support/receiver.ts';
import { pathsOf, SpanRecorder } from '../support/span-recorder.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const TRACE = 'a1b2c3d4e5f60718293a4b5c6d7e8f90';
const CALLER = '00f067aa0ba902b7';

interface LoggedLine {
  incident?: string;
  msg: string;
}

describe('what operators can observe', () => {
  const spans = new SpanRecorder();
  let clock: PassingClock;
  let server: TestApp;
  let receiver: Receiver;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    clock = new PassingClock();
    receiver = await Receiver.start();
    server = await startTestApp({}, { clock });
    FilingConnector.install(server.app);
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application);
    await createWebhook(server.app, application, `${receiver.origin}/hook`, {
      triggers: ['job.successful'],
    });
  });
  afterAll(async () => {
    await spans.stop();
    await server.close();
    await receiver.stop();
  });

  const send = async (to: string, headers: Record<string, string> = {}): Promise<string> => {
    const response = await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .set(headers)
      .send({ to: [{ email: to }], subject: 'A secret subject', body: 'Hello' })
      .expect(202);
    return response.body.job_status_id;
  };
  const ended = (id: string) =>
    until(`job ${id} to be sent`, async () => {
      const { body } = await request(server.url)
        .get(`/job-statuses/${id}?view=expanded`)
        .set(ada.bearer);
      if (body.status === 'successful') return body;
      const wait = (body.attempts.at(-1)?.next_at ?? 0) * 1000 - clock.now().getTime();
      if (wait > 0) await clock.pass(wait);
      return null;
    });
  const delivered = (count: number) =>
    until('the deliveries', async () => receiver.posted.length === count && receiver.posted);

  /** Answers the first delivery about a job of this action with an error. */
  const refuseFirst = (action: string): void => {
    receiver.behave = (response, delivery, socket) => {
      if (!delivery.body.includes(`"action":"${action}"`))
        return agreeable(response, delivery, socket);
      receiver.behave = agreeable;
      response.writeHead(503).end();
    };
  };

  it('traces cost nothing while nobody listens: rows, headers and log lines have none', async () => {
    const id = await send('bo@elsewhere.test', { traceparent: `00-${TRACE}-${CALLER}-01` });
    const rows = await server.app
      .get(Database)
      .query('select 1 from send_job where traceparent is not null');
    expect(rows).toEqual([]);
    await ended(id);
    const [webhook] = await delivered(2);
    expect(webhook?.headers['traceparent']).toBeUndefined();
    expect(loggedLines().filter((line) => line.includes('trace_id'))).toEqual([]);
  });

  it('traces follow a message from the request over its attempts to its copy and its webhooks, in the trace of the caller', async () => {
    spans.start();
    const before = receiver.posted.length;
    refuseFirst('new_outbox');
    const id = await send('temporary+1@sandbox.test', { traceparent: `00-${TRACE}-${CALLER}-01` });
    await ended(id);
    await until('the webhooks to be delivered', async () => {
      if (receiver.posted.length < before + 3) await clock.pass(60_000);
      return receiver.posted.length >= before + 3;
    });
    await until('the last span to end', async () => spans.of(TRACE).length >= 12);
    const attempt = 'POST /v2/outbox > send message';
    const copy = `${attempt} > write to provider`;
    expect(pathsOf(spans.of(TRACE))).toEqual([
      'POST /v2/outbox',
      attempt,
      attempt,
      `${attempt} > deliver webhook`,
      `${attempt} > deliver webhook`,
      `${attempt} > deliver webhook > POST 127.0.0.1`,
      `${attempt} > deliver webhook > POST 127.0.0.1`,
      `${attempt} > hand over message`,
      `${attempt} > hand over message`,
      copy,
      `${copy} > deliver webhook`,
      `${copy} > deliver webhook > POST 127.0.0.1`,
    ]);
  });

  it('spans show the reply of the server, the account and the job, and no word or address of the message', () => {
    const [request] = spans.named('POST /v2/outbox');
    expect(request?.parentSpanContext?.spanId).toBe(CALLER);
    expect(request?.attributes).toMatchObject({
      'http.route': '/v2/outbox',
      'http.response.status_code': 202,
      'carillon.account_id': ada.id,
    });
    const [refused, accepted] = spans.named('hand over message');
    expect(refused?.status).toMatchObject({ code: 2, message: expect.stringMatching(/^4\d\d/) });
    expect(accepted?.attributes).toMatchObject({
      'carillon.account_id': ada.id,
      'carillon.provider': 'sandbox',
      'carillon.reply': expect.stringContaining('250'),
    });
    const attempts = spans.named('send message').map(({ attributes }) => attributes);
    expect(attempts.map((of) => [of['carillon.attempt'], of['carillon.outcome']])).toEqual([
      [1, 'again'],
      [2, 'done'],
    ]);
    const all = JSON.stringify(
      spans.of(TRACE).map(({ name, attributes, status }) => ({ name, attributes, status })),
    );
    expect(all).not.toMatch(/secret subject|@sandbox\.test|@elsewhere/);
  });

  it('traces are continued at the receiver of a webhook and named in the log', () => {
    const last = receiver.posted.at(-1)?.headers['traceparent'] as string;
    const exchange = spans.of(TRACE).map((span) => span.spanContext().spanId);
    expect(last.split('-').slice(0, 2)).toEqual(['00', TRACE]);
    expect(exchange).toContain(last.split('-')[2]);
    const line = loggedLines().find((text) => text.includes(TRACE)) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ trace_id: TRACE, req: { path: '/v2/outbox' } });
  });

  it('each sync pass has a span', async () => {
    const { id } = await createAccount(server.app, application, { mirrored: true });
    const pass = await until('a sync pass', async () =>
      spans.named('sync pass').find(({ attributes }) => attributes['carillon.account_id'] === id),
    );
    expect(pass.attributes).toMatchObject({ 'carillon.queue': 'sync', 'carillon.attempt': 1 });
    expect(pass.parentSpanContext).toBeUndefined();
  });

  const incidents = (kind: string) =>
    loggedLines()
      .map((line) => JSON.parse(line) as LoggedLine)
      .filter(({ incident }) => incident === kind);

  it('a webhook that its receiver ends has one line with its id, and so has the lost event', async () => {
    const webhook = await createWebhook(server.app, application, `${receiver.origin}/gone`, {
      triggers: ['job.successful'],
    });
    receiver.behave = (response, delivery, socket) =>
      delivery.url === '/gone'
        ? response.writeHead(410).end()
        : agreeable(response, delivery, socket);
    await send('bo@elsewhere.test');
    const [failed] = await until('the line', async () => {
      const found = incidents('webhook.failed');
      return found.length > 0 && found;
    });
    expect(failed).toMatchObject({ webhook, application: application.id });
    expect(failed?.msg).toContain('a webhook was disabled: the receiver answered 410');
    expect(incidents('delivery.dropped')[0]).toMatchObject({ webhook, event: expect.any(String) });
  });

  it('an account whose credentials are refused has one line', async () => {
    const bo = await createAccount(server.app, application);
    const response = await request(server.url)
      .post('/v2/outbox')
      .set(bo.bearer)
      .send({ to: [{ email: 'auth-invalid@sandbox.test' }], subject: 'Hello' });
    const [line] = await until('the line', async () => {
      const found = incidents('account.invalid');
      return found.length > 0 && found;
    });
    expect(line).toMatchObject({ account: bo.id, application: application.id });
    expect(incidents('send.failed')).toMatchObject([
      { account: bo.id, job: response.body.job_status_id },
    ]);
  });

  it('the level of the log follows operators while the server runs', async () => {
    const { bearer } = await createOperator(server);
    const admin = () => request(server.url);
    const set = (body: object) => admin().put('/admin/log-level').set(bearer).send(body);
    const levels = server.app.get(LogLevels);
    const { body } = await set({ level: 'error', for_seconds: 60 }).expect(200);
    expect(body).toMatchObject({ level: 'error', until: expect.any(Number) });
    await levels.tick();
    expect([isLogged('info'), isLogged('error')]).toEqual([false, true]);
    await clock.pass(61_000);
    await levels.tick();
    expect(isLogged('info')).toBe(true);
    await set({ level: 'error' }).expect(200);
    await levels.tick();
    await admin().delete('/admin/log-level').set(bearer).expect(200);
    await levels.tick();
    expect(isLogged('info')).toBe(true);
    const { body: none } = await admin().get('/admin/log-level').set(bearer).expect(200);
    expect(none).toEqual({ level: null, until: null });
    await set({ level: 'loud' }).expect(400);
    await set({ level: 'debug', for_seconds: 86_401 }).expect(400);
  });
});
