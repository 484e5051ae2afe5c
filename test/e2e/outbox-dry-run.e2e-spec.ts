import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const bo = { email: 'bo@example.test', name: 'Bo' };

describe('a dry run', () => {
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  let ada: TestAccount;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { email: 'ada@sandbox.test', name: 'Ada' });
  });
  afterAll(() => server.close());

  const post = (query: string, body: object, account = ada) =>
    request(server.url).post(`/v2/outbox${query}`).set(account.bearer).send(body);
  const plan = (body: object, account = ada) => post('?dry_run=true', body, account);
  const rows = async () => {
    const [row] = await database.query<{ n: number }>(
      `select (select count(*) from job_status) + (select count(*) from outbox_message)
            + (select count(*) from send_job) + (select count(*) from idempotency_key) as n`,
    );
    return row?.n;
  };

  it('returns the plan for the message and stores nothing', async () => {
    const before = await rows();
    const sendAt = inSeconds(3600);
    const response = await plan({
      to: [bo],
      cc: [{ email: 'BO@example.test' }, { email: 'cy@example.test' }],
      subject: 'Hi',
      body: '<p>Hi</p>',
      send_at: sendAt,
      on_missed: 'skip',
      on_unknown: 'fail',
    });
    expect(response.status).toBe(200);
    expect(response.headers['etag']).toBeUndefined();
    const { planned_attempts: attempts, ...rest } = response.body;
    expect(rest).toEqual({
      dry_run: true,
      account_id: ada.id,
      send_at: sendAt,
      retry_limit_datetime: sendAt + 86_400,
      route: 'account',
      relay_available: false,
      account_closed_until: null,
      account_closed_reason: null,
      account_queue_until: null,
      size: expect.any(Number),
      recipients: 2,
      on_missed: 'skip',
      max_lateness_seconds: 60,
      on_unknown: 'fail',
      original_data: {
        from: [{ email: 'ada@sandbox.test', name: 'Ada' }],
        to: [bo],
        cc: [
          { email: 'BO@example.test', name: '' },
          { email: 'cy@example.test', name: '' },
        ],
        bcc: [],
        reply_to: [],
        subject: 'Hi',
        body: '<p>Hi</p>',
        send_at: sendAt,
        original_send_at: sendAt,
        retry_limit_datetime: sendAt + 86_400,
      },
    });
    expect(rest.size).toBeGreaterThan(200);
    expect(attempts.slice(0, 4)).toEqual(
      [0, 30, 90, 210].map((seconds) => ({ at: sendAt + seconds, route: 'account' })),
    );
    expect(attempts.at(-1)).toEqual({ at: sendAt + 86_400, route: 'account' });
    expect(await rows()).toBe(before);
  });

  it.each([
    { send_at: 253_402_300_799 },
    { send_at: 253_402_300_799, retry_limit_datetime: 0 },
    { send_at: '1900000000', retry_limit_datetime: 1_900_604_800 },
    { send_at: 1_900_000_000, cc: [bo], body: 'ü'.repeat(70_000), on_missed: 'skip' },
  ])('returns the same data as the real request: %#', async (given) => {
    const body = { to: [bo], ...given };
    const [planned, real] = [await plan(body), await post('', body)];
    expect([planned.status, real.status]).toEqual([200, 202]);
    expect(planned.body.original_data).toEqual(real.body.original_data);
    const [stored] = await database.query<{ size: number; recipients: number }>(
      `select octet_length(mime) as size, jsonb_array_length(envelope -> 'recipients') as recipients
       from outbox_message where id = $1`,
      [real.body.job_status_id],
    );
    expect({ size: planned.body.size, recipients: planned.body.recipients }).toEqual(stored);
  });

  it('plans one attempt for a retry limit of 0, and every attempt for a retry limit of seven days', async () => {
    const sendAt = inSeconds(3600);
    const single = await plan({ to: [bo], send_at: sendAt, retry_limit_datetime: 0 });
    expect(single.body.retry_limit_datetime).toBe(0);
    expect(single.body.planned_attempts).toEqual([{ at: sendAt, route: 'account' }]);
    const same = await plan({ to: [bo], send_at: sendAt, retry_limit_datetime: sendAt });
    expect(same.body.retry_limit_datetime).toBe(sendAt);
    expect(same.body.planned_attempts).toEqual(single.body.planned_attempts);
    const limit = sendAt + 7 * 86_400;
    const long = await plan({ to: [bo], send_at: sendAt, retry_limit_datetime: limit });
    expect(long.body.planned_attempts.length).toBeGreaterThan(150);
    expect(long.body.planned_attempts.at(-1).at).toBe(limit);
  });

  it('reports why the account is closed, and plans from the end of that time', async () => {
    const account = await createAccount(server.app, application);
    const [gate] = await database.query<{ closed: number; queue: number }>(
      `insert into account_gate (account_id, next_slot, closed_until, close_reason)
       values ($1, now() + interval '2 h', now() + interval '1 h', 'daily limit')
       returning floor(extract(epoch from closed_until))::int as closed, floor(extract(epoch from next_slot))::int as queue`,
      [account.id],
    );
    const { body } = await plan({ to: [bo] }, account);
    expect(body.account_closed_reason).toBe('daily limit');
    expect(body).toMatchObject({
      account_closed_until: gate?.closed,
      account_queue_until: gate?.queue,
    });
    expect(body.planned_attempts[0].at).toBe(body.account_closed_until);
    const later = await plan({ to: [bo], send_at: inSeconds(9000) }, account);
    expect(later.body.planned_attempts[0].at).toBe(later.body.send_at);
    // At its deadline a message is tried even if the account is closed. The plan is one attempt at
    // that time.
    const limit = inSeconds(1800);
    const short = await plan({ to: [bo], retry_limit_datetime: limit }, account);
    expect(short.body.planned_attempts).toEqual([{ at: limit, route: 'account' }]);
    const single = await plan({ to: [bo], retry_limit_datetime: 0 }, account);
    expect(single.body.planned_attempts).toEqual([{ at: single.body.send_at, route: 'account' }]);
    await database.query(
      `update account_gate set closed_until = now() - interval '1 s' where account_id = $1`,
      [account.id],
    );
    expect((await plan({ to: [bo] }, account)).body).toMatchObject({
      account_closed_until: null,
      account_closed_reason: null,
    });
  });

  it("plans with the mailing service if the service sends for the account and the message has the account's address", async () => {
    const own = await createApplication(server.app);
    const account = await createAccount(server.app, own);
    await database.query(
      `insert into relay (application_id, kind, settings_sealed, created_at, updated_at)
       values ($1, 'smtp', 'sealed', now(), now())`,
      [own.id],
    );
    await database.query(
      `insert into relay_sender (account_id, domain_verified, sender_verified, checked_at)
       values ($1, false, true, now())`,
      [account.id],
    );
    const { body } = await plan({ to: [bo], from: [{ email: account.email }] }, account);
    expect([body.relay_available, body.route, body.planned_attempts[5].route]).toEqual([
      true,
      'account',
      'relay',
    ]);
    const alias = (await plan({ to: [bo], from: [{ email: 'boss@example.test' }] }, account)).body;
    expect([alias.relay_available, alias.planned_attempts[5].route]).toEqual([false, 'account']);
  });

  it.each([
    {},
    { to: [{ email: 'nobody' }] },
    { to: [bo], send_at: inSeconds(-3600) },
    { to: [bo], send_at: inSeconds(7200), retry_limit_datetime: inSeconds(3600) },
    { to: [bo], retry_limit_datetime: inSeconds(700_000) },
    { to: [bo], reply_to_message_id: 'm1' },
    { to: [bo], file_ids: ['f1'] },
    { to: [bo], tracking: { opens: 'yes' } },
    { to: [bo], max_lateness_seconds: 3 },
    { to: [bo], on_missed: 'never' },
  ])('refuses %j with the same response as the real request', async (body) => {
    const before = await rows();
    const [dry, real] = await Promise.all([plan(body), post('', body)]);
    expect(dry.status).toBe(real.status);
    expect(dry.status).toBeGreaterThanOrEqual(400);
    expect(dry.body).toEqual(real.body);
    expect(await rows()).toBe(before);
  });

  it.each(['?dry_run=yes', '?dry_run=1', '?dry_run=', '?dry_run=true&dry_run=no'])(
    'refuses %s instead of guessing',
    async (query) => {
      const before = await rows();
      const response = await post(query, { to: [bo] });
      expect(response.status).toBe(400);
      expect(response.body.message).toMatch(/^dry_run: /);
      expect(await rows()).toBe(before);
    },
  );

  it('is made if the last of several dry_run parameters says so', async () => {
    const before = await rows();
    const response = await post('?dry_run=false&dry_run=true', { to: [bo] });
    expect([response.status, response.body.dry_run]).toEqual([200, true]);
    expect(await rows()).toBe(before);
  });

  it('accepts the message with dry_run=false', async () => {
    const before = await rows();
    const response = await post('?dry_run=false', { to: [bo], send_at: inSeconds(3600) });
    expect(response.status).toBe(202);
    expect(await rows()).not.toBe(before);
  });
});
