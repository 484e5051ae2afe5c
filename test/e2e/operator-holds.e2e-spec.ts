import request from 'supertest';
import type { AccountDetail } from '../../src/operator/accounts/account-health.ts';
import { takeSample } from '../../src/operator/capacity/capacity.repository.ts';
import { Clock } from '../../src/platform/base/time/clock.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { registerSandbox } from '../support/connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { secret } from '../support/log-watch.ts';
import { createOperator, type TestOperator } from '../support/operators.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;
const to = [{ email: 'bo@example.test' }];

describe('what operators stop and resume', () => {
  const clock = new PassingClock();
  let server: TestApp;
  let operator: TestOperator;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ DATABASE_DISK_GB: '1' }, { clock });
    operator = await createOperator(server);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application);
  });

  const admin = async <T>(method: 'get' | 'post' | 'delete', path: string, status = 200) => {
    const asked = request(server.url)[method](`/admin/${path}`).set(operator.bearer);
    const { body } = await (/\/(pause|suspend)$/.test(path)
      ? asked.send({ reason: 'the server asked' })
      : asked);
    expect(body).toEqual(
      status === 200 ? expect.any(Object) : expect.objectContaining({ type: expect.any(String) }),
    );
    return body as T;
  };
  const accept = async (body: object = {}, account = ada): Promise<string> => {
    const { body: accepted } = await request(server.url)
      .post('/v2/outbox')
      .set(account.bearer)
      .send({ to, subject: 'Hello', body: 'Hello', ...body })
      .expect(202);
    return accepted.job_status_id as string;
  };
  const job = async (id: string, account = ada) =>
    (await request(server.url).get(`/job-statuses/${id}?view=expanded`).set(account.bearer)).body;
  const reaches = (id: string, status: string, account = ada) =>
    until(`job ${id} to be ${status}`, async () => {
      const found = await job(id, account);
      return found.status === status ? found : null;
    });
  const isPaused = (count: number) =>
    until(`${count} messages to wait`, async () => {
      const { messages } = await admin<{ messages: { paused: number } }>(
        'get',
        `accounts/${ada.id}`,
      );
      return messages.paused === count ? messages : null;
    });
  const sendNow = (account = ada) =>
    request(server.url).post('/send').set(account.bearer).send({ to, subject: 'Now', body: 'x' });

  it('lets messages of a paused account wait, shows it, and sends them when it is resumed', async () => {
    await admin('post', `accounts/${ada.id}/pause`);
    const [waiting, once] = [await accept(), await accept({ retry_limit_datetime: 0 })];
    await isPaused(2);
    expect(await reaches(waiting, 'delayed')).toMatchObject({
      reason: 'sending of the account is paused: the server asked',
      attempts: [],
    });
    const { body: seen } = await request(server.url)
      .get(`/a/${application.clientId}/accounts/${ada.id}`)
      .set(application.secretBasic);
    expect(seen.sending_paused).toBe('sending of the account is paused: the server asked');
    const refused = await sendNow().expect(403);
    expect(refused.body.message).toContain('Nothing was sent: sending of the account is paused');
    const list = await admin<{ items: { id: string; health: string; reason: string }[] }>(
      'get',
      `accounts?application=${application.clientId}`,
    );
    expect(list.items).toMatchObject([
      { id: ada.id, health: 'sending-paused', reason: 'the server asked' },
    ]);
    // A message with a single attempt waits for an hour.
    await clock.pass(0.9 * HOUR_MS);
    expect((await job(once)).status).toBe('delayed');
    await clock.pass(0.1 * HOUR_MS + 5_000);
    expect((await reaches(once, 'failed')).reason).toBe(
      'retry limit datetime reached; last error: sending of the account is paused: the server asked',
    );
    await clock.pass(21 * HOUR_MS);

    const resumed = await admin<{ sending_paused: null }>('post', `accounts/${ada.id}/resume`);
    expect(resumed.sending_paused).toBeNull();
    expect((await reaches(waiting, 'successful')).attempts).toHaveLength(1);
    await sendNow().expect(200);
    const audit = await server.app
      .get(Database)
      .query<{ action: string; name: string }>(
        `select action, actor_name as name from audit_entry where account_id = $1 order by id`,
        [ada.id],
      );
    expect(audit).toEqual([
      { action: 'account.pause', name: operator.name },
      { action: 'account.resume', name: operator.name },
    ]);
  });

  it('fails a message at its deadline, and one that may not be late once it is late', async () => {
    await admin('post', `accounts/${ada.id}/pause`);
    const late = await accept({ on_missed: 'skip' });
    const deadline = Math.floor((clock.now().getTime() + 2 * HOUR_MS) / 1000);
    const limited = await accept({ retry_limit_datetime: deadline });
    const { first_deadline: first } = (await isPaused(2)) as { first_deadline?: number };
    expect(first).toBe(deadline);
    await clock.pass(HOUR_MS);
    expect((await reaches(late, 'failed')).reason).toMatch(/^missed: /);
    expect((await job(limited)).status).toBe('delayed');
    await clock.pass(HOUR_MS + 1_000);
    expect((await reaches(limited, 'failed')).reason).toBe(
      'retry limit datetime reached; last error: sending of the account is paused: the server asked',
    );
  });

  it('pauses an application, and no other one', async () => {
    const other = await createAccount(server.app, await createApplication(server.app));
    const path = `applications/${application.clientId}`;
    await admin('post', `${path}/pause`);
    const [mine, theirs] = [await accept(), await accept({}, other)];
    await reaches(theirs, 'successful', other);
    expect((await reaches(mine, 'delayed')).reason).toBe(
      'sending of the application is paused: the server asked',
    );
    // The pause of the account would last, if there were one.
    await admin('post', `accounts/${ada.id}/resume`);
    expect((await job(mine)).status).toBe('delayed');
    await admin('post', `${path}/resume`);
    await reaches(mine, 'successful');
  });

  it('refuses every request of a suspended application, and loses nothing', async () => {
    const id = await accept({ send_at: Math.floor(clock.now().getTime() / 1000) + 60 });
    const path = `applications/${application.clientId}`;
    await admin('post', `${path}/suspend`);
    const asked = [
      request(server.url).get('/messages').set(ada.bearer),
      request(server.url).get(`/a/${application.clientId}/accounts`).set(application.secretBasic),
      request(server.url).get('/connect/grants').set(application.basic),
      request(server.url).post('/connect/token').send({
        client_id: application.clientId,
        client_secret: application.clientSecret,
        code: 'x',
      }),
    ];
    for (const response of await Promise.all(asked)) {
      expect(response.status).toBe(403);
      expect(JSON.stringify(response.body)).toContain('This application is suspended');
    }
    const page = await request(server.url).get(
      `/oauth/authorize?client_id=${application.clientId}&redirect_uri=https://x.test&response_type=code`,
    );
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('suspended')]);
    await clock.pass(61_000);
    await isPaused(1);
    expect(await admin('post', `${path}/unsuspend`)).toMatchObject({ suspended: null });
    await reaches(id, 'successful');
    await request(server.url).get('/messages').set(ada.bearer).expect(200);
  });

  it('creates an application in the console with a secret that works, and replaces the secret', async () => {
    // A session of its own: hours have passed since the first one was used.
    const { cookie, csrf } = await createOperator(server);
    const post = async (path: string, fields: object) => {
      const form = { csrf_token: csrf, ...fields };
      const made = request(server.url).post(path).set(cookie).type('form').send(form);
      const { text } = await made.expect(200);
      return [...text.matchAll(/data-copy="([0-9a-z]+)"/g)].map(([, value = '']) => value);
    };
    const statusWith = async (clientId: string, value: string) =>
      (await request(server.url).get('/connect/integrations').auth(clientId, value)).status;
    const fields = { name: 'Made in the console', plan: 'standard', region: 'eu' };
    const [first = ''] = await post('/console/applications/new', fields);
    const { items } = await admin<{ items: { id: string; client_id: string }[] }>(
      'get',
      'applications?search=Made%20in%20the%20console',
    );
    const { id = '', client_id: clientId = '' } = items[0] ?? {};
    secret('client secret', first);
    expect(await statusWith(clientId, first)).toBe(200);
    const [second = ''] = await post(`/console/applications/${id}/rotate-secret`, {});
    secret('client secret', second);
    expect(await statusWith(clientId, first)).toBe(401);
    expect(await statusWith(clientId, second)).toBe(200);
  });

  it('makes a link to sign in again, which knows the address', async () => {
    const link = `accounts/${ada.id}/sign-in-link`;
    await registerSandbox(server, application);
    const secondsNow = () => Math.floor(clock.now().getTime() / 1000);
    const before = secondsNow();
    const made = await admin<{ url: string; expires_at: number }>('post', link);
    expect(made.expires_at - 1_800).toBeGreaterThanOrEqual(before);
    expect(made.expires_at - 1_800).toBeLessThanOrEqual(secondsNow());
    const { pathname, search } = new URL(made.url);
    const page = await request(server.url).get(pathname + search);
    expect([page.status, page.text]).toEqual([200, expect.stringContaining(ada.email)]);
    // The application has no redirect address, so the sign-in ends on our own page.
    const browser = new PageBrowser(server);
    await browser.get(made.url);
    await browser.follow('credentials', { email: ada.email, password: 'anything' });
    const { location } = await browser.submit('consent');
    const done = await browser.get(location ?? '');
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('You are signed in')]);
    await request(server.url)
      .put(`/a/${application.clientId}`)
      .set(application.secretBasic)
      .send({ redirect_uris: ['https://app.example.test/back'] })
      .expect(200);
    const next = await admin<{ url: string }>('post', link);
    await browser.get(next.url);
    await browser.follow('credentials', { email: ada.email, password: 'anything' });
    expect((await browser.submit('consent')).location).toContain('https://app.example.test/back');
  });

  it('lists accounts page by page, worst first, and shows all that is wrong with one', async () => {
    const database = server.app.get(Database);
    const [bo, cy] = [
      await createAccount(server.app, application),
      await createAccount(server.app, application),
    ];
    await database.query(
      `update "grant" set status = 'invalid', sync_state = 'invalid', status_reason = '535 no' where id = $1`,
      [cy.id],
    );
    await database.query(
      `insert into account_gate (account_id, closed_until, close_reason) select id, now() + interval '1 h', 'busy' from unnest($1::uuid[]) id`,
      [[bo.id, cy.id]],
    );
    const seen: (string | undefined)[] = [];
    let token: string | null = '';
    while (token !== null) {
      const page: { items: { id: string; health: string }[]; next_page_token: string | null } =
        await admin(
          'get',
          `accounts?application=${application.id}&limit=1${token && `&page_token=${token}`}`,
        );
      seen.push(...page.items.map(({ id, health }) => `${id} ${health}`));
      token = page.next_page_token;
    }
    expect(seen).toEqual([
      `${cy.id} invalid-credentials`,
      `${bo.id} circuit-open`,
      expect.stringContaining(ada.id),
    ]);
    expect(await admin<AccountDetail>('get', `accounts/${cy.id}`)).toMatchObject({
      health: 'invalid-credentials',
      reason: '535 no',
      problems: [{ health: 'invalid-credentials' }, { health: 'circuit-open', reason: 'busy' }],
      gate: { reason: 'busy' },
      errors: [{ what: 'credentials', text: '535 no' }],
    });
    await admin('get', 'accounts?page_token=eA', 400);
    await admin('get', 'accounts/x', 404);
    expect(await admin('get', 'accounts?provider=gmail')).toMatchObject({ items: [] });
    expect(await admin('get', 'accounts?provider=gogle', 400)).toMatchObject({
      message: expect.stringMatching(/^provider: must be one of .*google \(or gmail\)/),
    });
    for (const list of ['jobs', 'audit-log'])
      expect(await admin('get', `${list}?since=100&until=99`, 400)).toMatchObject({
        message: 'until: must not be earlier than since',
      });
    const search = await admin<{ items: unknown[] }>(
      'get',
      `accounts?address=${bo.email.slice(0, 12).toUpperCase()}&health=circuit-open`,
    );
    expect(search.items).toMatchObject([{ id: bo.id }]);
  });

  it('forecasts when the disk is full, from the sizes of days', async () => {
    const database = server.app.get(Database);
    const now = server.app.get(Clock).now();
    await takeSample(database, new Date(now.getTime() - 4 * 24 * HOUR_MS));
    await takeSample(database, now);
    expect(await takeSample(database, now)).toBe(0);
    await database.query(
      `update table_sample set bytes = bytes - 4 * 1048576 where taken_at < now() - interval '1 day' and table_name in ('*', 'message')`,
    );
    interface View {
      bytes_per_day: number;
      tables: { table: string; bytes_per_day: number }[];
      disk: { limit_bytes: number; source: string; full_at: number };
      history: unknown[];
      retention: { setting: string | null }[];
    }
    const capacity = await admin<View>('get', 'capacity');
    expect(capacity.tables.find(({ table }) => table === 'message')?.bytes_per_day).toBeGreaterThan(
      1_048_000,
    );
    expect(capacity.disk).toMatchObject({ limit_bytes: 1024 ** 3, source: 'setting' });
    expect(capacity.disk.full_at).toBeGreaterThan(now.getTime() / 1000);
    expect(capacity.history.length).toBeGreaterThan(1);
    expect(capacity.retention.map(({ setting }) => setting)).toContain('SYNC_HORIZON_DAYS');
  });
});
