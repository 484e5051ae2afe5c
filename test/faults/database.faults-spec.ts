import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { loadConfig } from '../../src/config/app-config.ts';
import { createApp } from '../../src/app.ts';
import { SqlPool } from '../../src/database/sql.ts';
import type { INestApplicationContext } from '@nestjs/common';
import { type CrashingPostgres, startCrashingPostgres } from '../support/crashing-postgres.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { Receiver } from '../support/receiver.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const MESSAGES = 150;
const ACCOUNTS = 12;
const CRASHES = 3;

describe('a database that crashes in the middle of the work', () => {
  const encryptionKeys = `k:${randomBytes(32).toString('base64')}`;
  let database: CrashingPostgres;
  let receiver: Receiver;
  let server: ServerProcess;
  /** Several, because each has a pace. */
  const accounts: TestAccount[] = [];
  let sql: SqlPool;

  const open = () =>
    (sql = new SqlPool({ url: database.url, max: 2, statementTimeoutMs: 5000, applicationName: 'test' }));
  const count = async (text: string) => (await sql.query<{ n: number }>(text))[0]?.n;

  beforeAll(async () => {
    database = await startCrashingPostgres();
    receiver = await Receiver.start();
    const environment = {
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: encryptionKeys,
      EGRESS_ALLOW: '127.0.0.0/8',
      RATE_LIMIT_ACCOUNT: '0',
    };
    // Only to write the account and the webhook.
    const seed: INestApplicationContext = await createApp(
      loadConfig({ ...environment, ROLES: 'api', LOG_LEVEL: 'silent' }),
    );
    await seed.init();
    const application = await createApplication(seed);
    for (let n = 0; n < ACCOUNTS; n += 1) {
      accounts.push(await createAccount(seed, application, { email: `ada-${n}@sandbox.test` }));
    }
    await createWebhook(seed, application, receiver.origin, {
      triggers: ['job.successful', 'event.created'],
    });
    await seed.close();
    server = await startServerProcess(environment);
  }, 60_000);
  afterAll(async () => {
    await server.kill();
    await sql?.close();
    await database.close();
    await receiver.stop();
  });

  it('is waited for by a server that starts before it', async () => {
    await database.crash();
    let waits = true;
    const starting = startServerProcess({
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: encryptionKeys,
    }).finally(() => (waits = false));
    await until('the server that runs to notice', async () => {
      return (await request(server.url).get('/health/ready')).status === 503;
    });
    expect(waits).toBe(true);
    await database.restart();
    expect(await (await starting).stop()).toBe(0);
  }, 60_000);

  it('loses nothing that was accepted, doubles nothing, and is told apart from an error of ours', async () => {
    const answers = new Map<string, number>();
    const accepted: string[] = [];
    let last = 0;
    const post = async (path: string, body: object, account = accounts[0]) => {
      const response = await request(server.url)
        .post(path)
        .set(account?.bearer ?? {})
        .send(body);
      answers.set(`${path} ${response.status}`, (answers.get(`${path} ${response.status}`) ?? 0) + 1);
      last = response.status;
      if (response.status >= 300) await new Promise((resolve) => setTimeout(resolve, 20));
      return response;
    };
    const load = { goes: true };
    const messages = async () => {
      for (let n = 0; load.goes || accepted.length < MESSAGES; n += 1) {
        const message = { to: [{ email: `to-${n}@example.test` }] };
        const { status, body } = await post('/v2/outbox', message, accounts[n % ACCOUNTS]);
        if (status === 202) accepted.push(body.job_status_id);
      }
    };
    const calendars: string[] = [];
    const writes = async () => {
      while (load.goes) {
        const { status, body } = await post('/calendars', { name: 'Work' });
        if (status !== 200) continue;
        calendars.push(body.job_status_id);
        await post('/events', { calendar_id: body.id, title: 'Lunch', when: { time: 2_000_000_000 } });
      }
    };
    const loading = Promise.all([messages(), messages(), messages(), writes()]);
    for (let crash = 0; crash < CRASHES; crash += 1) {
      const before = accepted.length;
      await until('some work', async () => accepted.length >= before + 20);
      await database.crash();
      await until('the callers to notice', async () => last === 503);
      expect((await request(server.url).get('/health/live')).status).toBe(200);
      expect((await request(server.url).get('/health/ready')).status).toBe(503);
      await database.restart();
    }
    load.goes = false;
    await loading;
    open();
    await until(
      'every job to end',
      async () =>
        (await count(`select count(*) as n from job_status where status in ('pending', 'delayed')`)) === 0,
      45_000,
    );
    await until(
      'every delivery',
      async () => (await count('select count(*) as n from hook_job')) === 0,
      45_000,
    );
    await until(
      'to be ready again',
      async () => (await request(server.url).get('/health/ready')).status === 200,
    );

    expect([...answers.keys()].filter((key) => !/ (202|200|503)$/.test(key))).toEqual([]);
    const ended = await sql.query<{ status: string }>(
      'select distinct status from job_status where id = any($1::uuid[])',
      [[...accepted, ...calendars]],
    );
    expect(ended).toEqual([{ status: 'successful' }]);
    // What was stored without an answer counts too.
    const handOvers = await count(
      `select sum(modseq)::int as n from sandbox_mailbox where address like 'ada-%@sandbox.test'`,
    );
    expect(handOvers).toBe(await count('select count(*) as n from outbox_message'));
    // Each calendar and event is at the provider once.
    expect(await count('select count(*) as n from sandbox_calendar where not is_primary')).toBe(
      await count('select count(*) as n from calendar where not is_primary'),
    );
    expect(await count('select count(*) as n from sandbox_event')).toBe(
      await count('select count(*) as n from event'),
    );
    // Every notification arrived; repeats carry the same id.
    const events = await sql.query<{ id: string }>('select id from webhook_event');
    const told = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
    expect(events.filter(({ id }) => ![...told].some((name) => String(name).includes(id)))).toEqual([]);
    expect(server.output()).not.toContain('deadlock');
    expect(await server.stop()).toBe(0);
  }, 180_000);
});
