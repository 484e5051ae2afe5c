import http from 'node:http';
import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { pruneIdempotencyKeys } from '../../src/platform/idempotency/idempotency-keys.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const bo = { email: 'bo@example.test', name: 'Bo' };

describe('an Idempotency-Key', () => {
  const clock = new PassingClock();
  const inSeconds = (seconds: number) => Math.floor(clock.now().getTime() / 1000) + seconds;
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  let ada: TestAccount;
  /** Later than the time that passes in any test. */
  let sendAt: number;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' }, { clock });
    database = server.app.get(Database);
    application = await createApplication(server.app);
  });
  beforeEach(async () => {
    ada = await createAccount(server.app, application);
    sendAt = inSeconds(3 * 86_400);
  });
  afterAll(() => server.close());

  const post = (key: string, body: object = {}, account = ada, query = '') =>
    request(server.url)
      .post(`/v2/outbox${query}`)
      .set(account.bearer)
      .set('Idempotency-Key', key)
      .send({ to: [bo], subject: 'Hi', send_at: sendAt, ...body });
  const count = async (table: 'job_status' | 'idempotency_key', account = ada) => {
    const [row] = await database.query<{ n: number }>(
      `select count(*) as n from ${table} where account_id = $1`,
      [account.id],
    );
    return row?.n;
  };

  it('returns the first response to the same request, and stores one message', async () => {
    const first = await post('k1');
    expect(first.status).toBe(202);
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    const id = first.body.job_status_id;
    // The response stays the same even if the message changed in the meantime.
    await request(server.url)
      .patch(`/v2/outbox/${id}`)
      .set(ada.bearer)
      .send({ subject: 'x' })
      .expect(200);
    const again = await post('k1');
    expect(again.status).toBe(202);
    expect(again.text).toBe(first.text);
    expect(again.headers['etag']).toBe('"1"');
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await count('job_status')).toBe(1);
  });

  it('is stored in the transaction that stores the message, so that neither exists without the other', async () => {
    const { body } = await post('k1').expect(202);
    const rows = await database.query(
      `select k.xmin::text = j.xmin::text as together from idempotency_key k, send_job j
       where k.account_id = $1 and j.id = $2`,
      [ada.id, body.job_status_id],
    );
    expect(rows).toEqual([{ together: true }]);
  });

  it('ignores the order of names in the body', async () => {
    const send = (body: string) =>
      request(server.url)
        .post('/v2/outbox')
        .set(ada.bearer)
        .set('Idempotency-Key', 'order')
        .set('Content-Type', 'application/json')
        .send(body);
    const first = await send('{"to":[{"email":"bo@example.test","name":"Bo"}],"subject":"x"}');
    const again = await send('{"subject":"x", "to":[{"name":"Bo","email":"bo@example.test"}]}');
    expect(again.text).toBe(first.text);
  });

  it('accepts one of many simultaneous requests and gives all of them the same response', async () => {
    for (const key of ['race-1', 'race-2', 'race-3']) {
      const answers = await Promise.all(Array.from({ length: 12 }, () => post(key)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(
        answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined),
      ).toHaveLength(1);
    }
    expect(await count('job_status')).toBe(3);
  });

  it('accepts only one of several different simultaneous requests', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => post('differ', { subject: `s${index}` })),
    );
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      202,
      ...Array<number>(9).fill(409),
    ]);
    expect(await count('job_status')).toBe(1);
  });

  it('is refused for a different request, which stores nothing', async () => {
    await post('k2').expect(202);
    const other = await post('k2', { subject: 'Other' });
    expect(other.status).toBe(409);
    expect(other.body).toEqual({
      message:
        'Idempotency-Key: was used for another request within the last 24 hours; use a new key',
      type: 'invalid_request_error',
    });
    expect(await count('job_status')).toBe(1);
  });

  it('returns the first response even if the request would be refused by now', async () => {
    const body = { send_at: 0, retry_limit_datetime: inSeconds(600) };
    const first = await post('k3', body);
    expect(first.status).toBe(202);
    await clock.pass(700_000);
    expect((await post('k3', body, ada, '?dry_run=true')).status).toBe(400);
    expect((await post('k3', body)).text).toBe(first.text);
  });

  it('belongs to one account, and another account can use the same key', async () => {
    const eve = await createAccount(server.app, application);
    const first = await post('shared');
    const other = await post('shared', {}, eve);
    expect(other.status).toBe(202);
    expect(other.body.job_status_id).not.toBe(first.body.job_status_id);
    expect(other.headers['idempotent-replayed']).toBeUndefined();
  });

  it('stays unused if the request is refused or is a dry run', async () => {
    await post('k4', { to: [] }).expect(400);
    await post('k4', { send_at: 1 }).expect(400);
    await post('k4', {}, ada, '?dry_run=true').expect(200);
    expect(await count('idempotency_key')).toBe(0);
    const accepted = await post('k4').expect(202);
    expect(accepted.headers['idempotent-replayed']).toBeUndefined();
  });

  it('is bound to its request for 24 hours, and can be used again afterwards', async () => {
    const first = await post('k5');
    await clock.pass(24 * HOUR_MS - MINUTE_MS);
    expect((await post('k5')).text).toBe(first.text);
    await clock.pass(MINUTE_MS);
    const second = await post('k5', { subject: 'Other' });
    expect(second.status).toBe(202);
    expect(second.body.job_status_id).not.toBe(first.body.job_status_id);
    expect((await post('k5', { subject: 'Other' })).text).toBe(second.text);
    expect(await count('job_status')).toBe(2);
    // After the key has expired, two simultaneous requests with it are accepted once.
    await clock.pass(25 * HOUR_MS);
    const both = await Promise.all([post('k5'), post('k5')]);
    expect(both[0].text).toBe(both[1].text);
    expect(await count('job_status')).toBe(3);
  });

  it('is deleted after 24 hours', async () => {
    await post('old').expect(202);
    await clock.pass(24 * HOUR_MS);
    await post('new').expect(202);
    const now = clock.now();
    expect(await pruneIdempotencyKeys(database, now)).toBeGreaterThanOrEqual(1);
    expect(await pruneIdempotencyKeys(database, now)).toBe(0);
    const keys = await database.query('select key from idempotency_key where account_id = $1', [
      ada.id,
    ]);
    expect(keys).toEqual([{ key: 'new' }]);
  });

  it.each([true, false])(
    'delays no other account while its own account is removed (with a key: %s)',
    async (keyed) => {
      const eve = await createAccount(server.app, application);
      const { answers } = await database.transaction(async (removal) => {
        await removal.query('select from "grant" where id = $1 for update', [ada.id]);
        const sent = Array.from({ length: 30 }, (_, index) => {
          const one = request(server.url)
            .post('/v2/outbox')
            .set(ada.bearer)
            .send({ to: [bo], send_at: sendAt });
          return (keyed ? one.set('Idempotency-Key', `k${index}`) : one).then(
            ({ status }) => status,
          );
        });
        const waiting = await until('requests to wait for the removal', async () => {
          const [row] = await database.query<{ n: number }>(
            `select count(*) as n from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
          );
          return row?.n;
        });
        expect(waiting).toBeLessThanOrEqual(2);
        await post('other', {}, eve).expect(202);
        await removal.query('delete from access_token where grant_id = $1', [ada.id]);
        await removal.query('delete from "grant" where id = $1', [ada.id]);
        return { answers: Promise.all(sent) };
      });
      // 401 if the token was checked after the removal.
      for (const status of await answers) expect([401, 409]).toContain(status);
    },
  );

  it('is deleted with its account', async () => {
    await post('gone').expect(202);
    await request(server.url)
      .delete(`/connect/grants/${ada.id}`)
      .set(application.basic)
      .expect(200);
    expect(await count('idempotency_key')).toBe(0);
  });

  it.each(['', 'x'.repeat(256), 'a\tb', 'ü'])('is refused with the value %j', async (key) => {
    const response = await post(key);
    expect(response.status).toBe(400);
    expect(response.body.message).toMatch(/^Idempotency-Key: must have 1 to 255 printable/);
    expect(await count('job_status')).toBe(0);
    expect((await post(key, {}, ada, '?dry_run=true')).status).toBe(400);
  });

  it('may have 255 characters, including spaces and quotes', async () => {
    await post(`"${'x y'.repeat(84)}"`).expect(202);
    await post('x'.repeat(255)).expect(202);
  });

  it('is refused if the header is sent twice', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const call = http.request(`${server.url}/v2/outbox`, { method: 'POST' }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      call.on('error', reject);
      call.setHeader('Authorization', ada.bearer['authorization'] ?? '');
      call.setHeader('Idempotency-Key', ['a', 'b']);
      call.end(JSON.stringify({ to: [bo] }));
    });
    expect(status).toBe(400);
    expect(await count('job_status')).toBe(0);
  });

  it('answers 409 instead of waiting if the first request is still running', async () => {
    await post('k6').expect(202);
    await database.query(
      'update idempotency_key set status = null, response = null where account_id = $1',
      [ada.id],
    );
    const busy = await post('k6');
    expect(busy.status).toBe(409);
    expect(busy.body.message).toBe(
      'Idempotency-Key: the first request with this key is still running; repeat the request later',
    );
  });
});
