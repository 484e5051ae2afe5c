import request from 'supertest';
import { FailedAttempts, pruneFailedAttempts } from '../../src/platform/auth/failed-attempts.ts';
import { APP_CONFIG, type AppConfig } from '../../src/platform/config/app-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { registerSandbox, rowsOf } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { TestClock } from '../support/test-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const REDIRECT = 'https://app.example.test/callback';
const MINUTES_15 = 15 * 60_000;
let clients = 0;
/** A client address that no other test uses. */
const newClient = () => `198.51.100.${++clients}`;
const from = (address: string) => ({ 'x-forwarded-for': address });

describe('limits on guessing', () => {
  const clock = new TestClock();
  let server: TestApp;
  let application: TestApplication;
  beforeAll(async () => {
    server = await startTestApp(
      { ROLES: 'api', TRUST_PROXY: '1', RATE_LIMIT_FAILURES: '20' },
      { clock },
    );
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    await registerSandbox(server, application, { redirect_uris: [REDIRECT] });
  });
  afterAll(() => server.close());

  const native = (
    client: string,
    password: string,
    email = 'ada@sandbox.test',
    more: object = {},
  ) =>
    request(server.url)
      .post('/connect/authorize')
      .set(from(client))
      .send({
        client_id: application.clientId,
        name: 'Ada',
        email_address: email,
        provider: 'sandbox',
        settings: { password },
        ...more,
      });
  const page = async (client: string, password: string): Promise<PageBrowser> => {
    const { body } = await request(server.url)
      .post('/connect/auth')
      .set(application.basic)
      .send({ provider: 'sandbox', redirect_uri: REDIRECT })
      .expect(200);
    const browser = new PageBrowser(server, from(client));
    await browser.get(body.data.url);
    await browser.submit('credentials', { email: 'ada@sandbox.test', password });
    return browser;
  };
  const guessTen = async (client: string) => {
    for (let guess = 0; guess < 10; guess++) await native(client, 'wrong').expect(400);
  };

  describe('passwords of an account', () => {
    it('stop a client after ten wrong passwords, counted over pages and native sign-ins together', async () => {
      const mallory = newClient();
      for (let guess = 0; guess < 5; guess++) await native(mallory, 'wrong').expect(400);
      for (let guess = 0; guess < 5; guess++)
        expect((await page(mallory, 'wrong')).page.status).toBe(422);
      const refused = await native(mallory, 'right').expect(429);
      expect(refused.body.message).toBe(
        'Too many failed attempts for this account: try again in 15 minutes',
      );
      expect(refused.headers['retry-after']).toBe('900');
      const browser = await page(mallory, 'right');
      expect(browser.page.status).toBe(429);
      expect(browser.page.headers.get('retry-after')).toBe('900');
      expect(browser.error('password')).toContain('Too many wrong passwords');
    });

    it("do not lock out the account's owner at another client address", async () => {
      await guessTen(newClient());
      await native(newClient(), 'right').expect(200);
      expect((await page(newClient(), 'right')).page.status).toBe(303);
    });

    it('count from zero again after a quarter of an hour', async () => {
      const mallory = newClient();
      await guessTen(mallory);
      await native(mallory, 'right').expect(429);
      clock.advance(MINUTES_15 + 1000);
      await native(mallory, 'right').expect(200);
    });

    it('do not affect other accounts and other applications', async () => {
      const mallory = newClient();
      await guessTen(mallory);
      await native(mallory, 'right', 'bo@sandbox.test').expect(200);
      application = await createApplication(server.app);
      await native(mallory, 'right').expect(200);
    });

    it('do not count right passwords', async () => {
      const client = newClient();
      for (let time = 0; time < 25; time++) await native(client, 'right').expect(200);
    });

    it('also apply to simultaneous attempts', async () => {
      const mallory = newClient();
      const statuses = await Promise.all(
        Array.from({ length: 15 }, async () => (await native(mallory, 'wrong')).status),
      );
      expect(statuses.filter((status) => status === 400)).toHaveLength(10);
    });

    it('also count by the user name at the mail servers', async () => {
      const mallory = newClient();
      const guess = (email: string, username: string) =>
        native(mallory, 'wrong', email, {
          settings: { password: 'wrong', imap_username: username },
        });
      for (let time = 0; time < 10; time++) await guess(`x${time}@sandbox.test`, 'ada').expect(400);
      await guess('x10@sandbox.test', 'ADA').expect(429);
    });

    it('count the attempts at all processes together', async () => {
      const mallory = newClient();
      await guessTen(mallory);
      const config = server.app.get<AppConfig>(APP_CONFIG);
      const other = new FailedAttempts(config, server.app.get(Database), clock);
      const attempt = {
        applicationId: application.id,
        client: mallory,
        names: ['ADA@sandbox.test'],
      };
      await expect(other.run(attempt, async () => 'in')).rejects.toMatchObject({
        kind: 'rate-limited',
      });
      expect(await other.run({ ...attempt, client: newClient() }, async () => 'in')).toBe('in');
    });

    it('stop everyone after a hundred wrong passwords from all clients together', async () => {
      for (let client = 0; client < 10; client++) await guessTen(newClient());
      await native(newClient(), 'right').expect(429);
    });

    it('count for the client, and for no account, if the mail servers cannot be reached', async () => {
      const scanner = newClient();
      const settings = {
        imap_host: '127.0.0.1',
        imap_port: 1,
        imap_security: 'none',
        imap_password: 'x',
        smtp_host: '127.0.0.1',
        smtp_port: 1,
        smtp_security: 'none',
      };
      const attempt = async (client: string) =>
        (await native(client, 'x', 'ada@sandbox.test', { provider: 'imap', settings })).status;
      const statuses: number[] = [];
      for (let port = 0; port < 21; port++) statuses.push(await attempt(scanner));
      expect(statuses).toEqual([...Array.from({ length: 20 }, () => 400), 429]);
      expect(await attempt(newClient())).toBe(400);
    });

    it('do not count by client address for an application that sends its client secret', async () => {
      const own = { client_secret: application.clientSecret };
      const backend = newClient();
      for (let guess = 0; guess < 25; guess++)
        await native(backend, 'wrong', 'ada@sandbox.test', own).expect(400);
      await native(backend, 'right', 'ada@sandbox.test', own).expect(200);
      await native(backend, 'right', 'ada@sandbox.test', { client_secret: 'guessed' }).expect(401);
    });
  });

  describe('secrets of applications', () => {
    const wrongOnes = (client: string): Record<string, () => request.Test> => {
      const body = { client_id: application.clientId, client_secret: 'guessed', code: 'x' };
      const call = (test: request.Test) => test.set(from(client));
      return {
        'POST /connect/token': () => call(request(server.url).post('/connect/token').send(body)),
        'POST /oauth/token': () => call(request(server.url).post('/oauth/token').send(body)),
        'GET /oauth/token': () => call(request(server.url).get('/oauth/token').query(body)),
        'POST /oauth/revoke': () =>
          call(request(server.url).post('/oauth/revoke').auth('guessed', '')),
        'POST /connect/detect-provider': () =>
          call(
            request(server.url)
              .post('/connect/detect-provider')
              .send({ ...body, email_address: 'a@b.test' }),
          ),
        'GET /connect/grants': () =>
          call(request(server.url).get('/connect/grants').auth(application.clientId, 'guessed')),
        'GET /a/{client_id}': () =>
          call(request(server.url).get(`/a/${application.clientId}`).auth('guessed', '')),
        'POST /connect/authorize': () =>
          call(native(client, 'x', 'a@b.test', { client_id: 'guessed' })),
      };
    };

    it('answer 429 after twenty wrong ones, at any endpoint', async () => {
      const mallory = newClient();
      const tries = Object.values(wrongOnes(mallory));
      for (let guess = 0; guess < 20; guess++) await tries[guess % tries.length]?.().expect(401);
      for (const guess of tries) {
        const { headers } = await guess().expect(429);
        expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      }
      // The client cannot try passwords any more either.
      await native(mallory, 'right').expect(429);
    });

    it('never refuse a right secret, even from the same address', async () => {
      const shared = newClient();
      const guess = wrongOnes(shared)['GET /connect/grants'];
      for (let time = 0; time < 25; time++) await guess?.();
      await guess?.().expect(429);
      await request(server.url)
        .get('/connect/grants')
        .set(application.basic)
        .set(from(shared))
        .expect(200);
      await request(server.url)
        .get(`/a/${application.clientId}`)
        .set(application.secretBasic)
        .set(from(shared))
        .expect(200);
      const { body } = await native(newClient(), 'right').expect(200);
      const token = { client_id: application.clientId, client_secret: application.clientSecret };
      await request(server.url)
        .post('/oauth/token')
        .set(from(shared))
        .send({ ...token, code: body.code })
        .expect(200);
    });

    it('do not count requests without a secret', async () => {
      const client = newClient();
      for (let time = 0; time < 25; time++)
        await request(server.url).get('/connect/grants').set(from(client)).expect(401);
    });
  });

  it('leave no row behind after their time is over', async () => {
    await guessTen(newClient());
    clock.advance(MINUTES_15 + 1000);
    const sql = server.app.get(Database);
    expect(await pruneFailedAttempts(sql, clock.now())).toBeGreaterThan(0);
    expect(await rowsOf(server, 'select 1 from failed_attempt')).toEqual([]);
  });

  it('store neither addresses nor names', async () => {
    await guessTen('203.0.113.77');
    const rows = await rowsOf<{ text: string }>(
      server,
      'select f::text as text from failed_attempt f',
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toMatch(/203\.0|sandbox/);
  });

  describe('revoking a token', () => {
    it('works for a cancelled account, which can do nothing else', async () => {
      const account = await createAccount(server.app, application, {
        email: 'gone@sandbox.test',
        billingState: 'cancelled',
      });
      await request(server.url).get('/account').set(account.bearer).expect(403);
      await request(server.url).post('/oauth/revoke').set(account.bearer).expect(200);
      await request(server.url).post('/oauth/revoke').set(account.bearer).expect(401);
      await request(server.url).get('/account').set(account.bearer).expect(401);
    });
  });
});
