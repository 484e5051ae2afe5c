import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { loggedLines } from '../support/log-watch.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { SpanRecorder } from '../support/span-recorder.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const WORDS = {
  integrationSecret: 'secret-of-the-integration',
  password: 'password-of-the-mailbox',
  email: 'eve.dropped@sandbox.test',
  recipient: 'recipient@example.test',
  subject: 'subject of the message',
  body: 'body of the message',
  path: 'path-with-a-key',
  state: 'state-of-the-caller',
  query: 'token-in-the-query',
};

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const SPAN_PRINTER = new URL('../support/span-printer.mjs', import.meta.url).href;

interface Line {
  level: number;
  msg: string;
  req?: { id: string; method: string; path: string };
  res?: { status: number };
  err?: { type: string; code?: string; stack: string };
  trace_id?: string;
  incident?: string;
  span?: {
    name: string;
    traceId: string;
    spanId: string;
    parentId: string | null;
    attributes: Record<string, unknown>;
  };
}

describe('logs', () => {
  let seed: TestApp;
  let application: TestApplication;
  let server: ServerProcess;
  let sql: SqlPool;
  let secrets: string[];
  let lines: Line[];
  /** A message that this process accepted and the server sent. */
  let handedOver: string;
  let accountId: string;
  let jobs: { failed: string; delayed: string };

  beforeAll(async () => {
    const ENCRYPTION_KEYS = `k:${randomBytes(32).toString('base64')}`;
    seed = await startTestApp({ ROLES: 'api', ENCRYPTION_KEYS });
    application = await createApplication(seed.app);
    sql = new SqlPool({
      url: seed.database.url,
      max: 1,
      statementTimeoutMs: 30_000,
      applicationName: 'test',
    });
    server = await startServerProcess(
      { DATABASE_URL: seed.database.url, ENCRYPTION_KEYS, LOG_LEVEL: 'debug' },
      { nodeArguments: ['--import', SPAN_PRINTER] },
    );
    secrets = [application.clientSecret, ...Object.values(WORDS), ...(await use())];
    expect(await server.stop()).toBe(0);
    lines = server
      .output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  });
  afterAll(async () => {
    await server.kill();
    await sql.close();
    await seed.close();
  });

  it('contain what libraries write to the console', () => {
    console.warn('a library warns: %d ms late', 15);
    expect(loggedLines().filter((line) => line.includes('a library warns: 15 ms late'))).toEqual([
      expect.stringContaining('"context":"Console"'),
    ]);
  });

  /**
   * Sends every kind of secret to the server, in requests that succeed, are refused, and fail
   * internally.
   */
  async function use(): Promise<string[]> {
    const { basic, secretBasic, clientId } = application;
    const client = request(server.url);
    const integration = {
      name: 'Sandbox',
      provider: 'sandbox',
      settings: { client_secret: WORDS.integrationSecret },
    };
    await client.post('/connect/integrations').set(basic).send(integration).expect(200);
    const credentials = {
      provider: 'sandbox',
      settings: { email: WORDS.email, password: WORDS.password },
      state: WORDS.state,
    };
    const { body: grant } = await client
      .post('/connect/grants')
      .set(basic)
      .send(credentials)
      .expect(200);
    const { id, access_token: token } = grant.data as { id: string; access_token: string };
    const bearer = { authorization: `Bearer ${token}` };
    const message = { to: [{ email: WORDS.recipient }], subject: WORDS.subject, body: WORDS.body };
    const { body: sent } = await client.post('/v2/outbox').set(bearer).send(message).expect(202);
    await until('the message to be sent', async () => {
      const { body } = await client.get(`/job-statuses/${sent.job_status_id}`).set(bearer);
      return body.status === 'successful';
    });
    await client.get(`/account?access_token=${WORDS.query}`).expect(401);
    await client
      .post('/v2/outbox')
      .set(bearer)
      .type('json')
      .send(`{"subject":"${WORDS.subject}`)
      .expect(400);
    const troubled = await Promise.all(
      ['rejected@sandbox.test', 'temporary+1@sandbox.test'].map(async (email) => {
        const { body } = await client
          .post('/v2/outbox')
          .set(bearer)
          .send({ ...message, to: [{ email }] });
        return body.job_status_id as string;
      }),
    );
    const [failed, delayed] = troubled;
    jobs = { failed: failed ?? '', delayed: delayed ?? '' };
    await until('both messages to be tried', async () => {
      const states = await Promise.all(
        troubled.map((job) => client.get(`/job-statuses/${job}`).set(bearer)),
      );
      return states.every(({ body }) => body.status !== 'pending');
    });
    await client.get('/account').set({ authorization: 'Bearer a-token-of-nobody' }).expect(401);
    accountId = id;
    handedOver = await acceptElsewhere({ ...bearer, traceparent: TRACEPARENT });
    const webhook = {
      callback_url: `https://app.example.test/${WORDS.path}`,
      triggers: ['job.failed'],
      state: 'inactive',
    };
    const links = await signIn();
    for (const table of ['"grant"', 'webhook', 'job_status'])
      await sql.query(`alter table ${table} add constraint broken check (id is null) not valid`);
    await client
      .patch(`/connect/grants/${id}`)
      .set(basic)
      .send({ metadata: { a: 'b' } })
      .expect(500);
    await client.post(`/a/${clientId}/webhooks`).set(secretBasic).send(webhook).expect(500);
    await client
      .post('/v2/outbox')
      .set(bearer)
      .set('X-Request-Id', 'failing')
      .send(message)
      .expect(500);
    return [token, ...links];
  }

  /** Accepts a message in this process, whose spans are recorded, and waits for the server. */
  async function acceptElsewhere(headers: Record<string, string>): Promise<string> {
    const spans = new SpanRecorder();
    spans.start();
    const message = { to: [{ email: WORDS.recipient }], subject: WORDS.subject };
    const { body } = await request(seed.url).post('/v2/outbox').set(headers).send(message);
    await until('the message to be sent', async () => {
      const job = await request(seed.url).get(`/job-statuses/${body.job_status_id}`).set(headers);
      return job.body.status === 'successful';
    });
    const [accepted] = spans.named('POST /v2/outbox');
    await spans.stop();
    return accepted?.spanContext().spanId ?? '';
  }

  /** Signs a user in on the pages. @returns the secrets in the links and cookies */
  async function signIn(): Promise<string[]> {
    const redirect_uri = `https://app.example.test/${WORDS.path}`;
    const { body } = await request(server.url)
      .patch('/connect/integrations/sandbox')
      .set(application.basic)
      .send({ redirect_uris: [redirect_uri] })
      .expect(200)
      .then(() =>
        request(server.url)
          .post('/connect/auth')
          .set(application.basic)
          .send({ provider: 'sandbox', redirect_uri, state: WORDS.state })
          .expect(200),
      );
    const link = new URL(body.data.url as string);
    const browser = new PageBrowser(server);
    await browser.get(link.href);
    await browser.submit('credentials', { email: WORDS.email, password: 'wrong' });
    await browser.follow('credentials', { email: WORDS.email, password: WORDS.password });
    await browser.submit('consent');
    const code = new URL(browser.page.location ?? '').searchParams.get('code') ?? '';
    const client_secret = application.clientSecret;
    await request(server.url)
      .get('/oauth/token')
      .query({ client_id: application.clientId, client_secret, code })
      .expect(200);
    // Refused requests must not log secrets either.
    const refused = request(server.url);
    await refused
      .get('/oauth/token')
      .query({ client_id: application.clientId, client_secret, code })
      .expect(400);
    await refused.get('/oauth/token').query({ client_secret, code: '' }).expect(400);
    await refused
      .get('/oauth/token')
      .query({ client_id: 'nobody', client_secret, code })
      .expect(401);
    await refused
      .post('/connect/authorize')
      .send({
        client_id: application.clientId,
        name: 'Eve',
        email_address: WORDS.email,
        provider: 'imap',
        settings: {
          imap_host: '127.0.0.1',
          imap_port: 1,
          smtp_host: '127.0.0.1',
          smtp_port: 1,
          imap_password: WORDS.password,
        },
      })
      .expect(400);
    return [link.searchParams.get('id') ?? '', code, ...browser.cookies.values()];
  }

  it("contain no secret, no person's address and no word of a message", () => {
    const text = server.output();
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });

  it('contain every request, even one with a refused body', () => {
    const requests = lines.flatMap(({ req, res }) =>
      req && res ? [`${req.method} ${req.path} ${res.status}`] : [],
    );
    expect(requests).toEqual(
      expect.arrayContaining([
        'POST /v2/outbox 202',
        'GET /account 401',
        'POST /v2/outbox 400',
        'POST /v2/outbox 500',
      ]),
    );
  });

  it('name the trace of a message that one process accepts and another sends', () => {
    const ofTrace = lines.flatMap(({ span }) =>
      span && TRACEPARENT.includes(span.traceId) ? [span] : [],
    );
    const attempt = ofTrace.find(({ name }) => name === 'send message');
    expect(attempt?.parentId).toBe(handedOver);
    expect(ofTrace.find(({ name }) => name === 'hand over message')).toMatchObject({
      parentId: attempt?.spanId,
      attributes: { 'carillon.reply': expect.stringContaining('250') },
    });
  });

  it("have one line for each failed and delayed message, with its account, its job and the server's words", () => {
    const of = (kind: string) => lines.filter(({ incident }) => incident === kind);
    expect(of('send.failed')).toMatchObject([
      {
        level: 40,
        account: accountId,
        job: jobs.failed,
        trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        msg: expect.stringMatching(/^a message was not sent: .*550 5\.1\.1 <…@…>/),
      },
    ]);
    expect(of('send.delayed')).toMatchObject([
      {
        account: accountId,
        job: jobs.delayed,
        msg: expect.stringMatching(/^a message is delayed: .*4\d\d/),
      },
    ]);
  });

  it('name the address of a client whose token or password is refused, and what it presented', () => {
    const refused = lines.filter(({ incident }) => incident === 'login.refused');
    expect(refused).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ client: '127.0.0.1', of: 'access token' }),
        expect.objectContaining({
          client: '127.0.0.1',
          of: 'sign-in',
          application: application.id,
        }),
      ]),
    );
  });

  it('contain internal failures under the request id that the client received', () => {
    const failure = lines.find(({ req, err }) => req?.id === 'failing' && err?.code !== undefined);
    expect(failure).toMatchObject({
      level: 50,
      msg: 'new row for relation "job_status" violates check constraint "broken"',
      err: { code: '23514', stack: expect.stringMatching(/outbox\.repository/) },
    });
  });
});
