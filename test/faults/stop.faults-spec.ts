import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const ACCOUNTS = 12;

describe('servers that are asked to stop under load', () => {
  const encryptionKeys = `k:${randomBytes(32).toString('base64')}`;
  let seed: TestApp;
  let sql: SqlPool;
  const accounts: TestAccount[] = [];
  const servers: ServerProcess[] = [];

  beforeAll(async () => {
    seed = await startTestApp({ ROLES: 'api', ENCRYPTION_KEYS: encryptionKeys });
    const application = await createApplication(seed.app);
    for (let n = 0; n < ACCOUNTS; n += 1) {
      accounts.push(await createAccount(seed.app, application, { email: `ada-${n}@sandbox.test` }));
    }
    sql = new SqlPool({
      url: seed.database.url,
      max: 2,
      statementTimeoutMs: 5000,
      applicationName: 'test',
    });
  });
  afterAll(async () => {
    for (const server of servers) await server.kill();
    await sql.close();
    await seed.close();
  });

  const start = async (roles = 'api,worker', settings: Record<string, string> = {}) => {
    const server = await startServerProcess({
      ...settings,
      DATABASE_URL: seed.database.url,
      ENCRYPTION_KEYS: encryptionKeys,
      ROLES: roles,
    });
    servers.push(server);
    return server;
  };
  const count = async (text: string) => (await sql.query<{ n: number }>(text))[0]?.n ?? 0;
  const open = () =>
    count(`select count(*) as n from job_status where status in ('pending', 'delayed')`);
  const handedOff = () => count('select count(*) as n from send_job where handoff_at is not null');
  let posted = 0;
  const post = (url: string, to: string[] = []) => {
    posted += 1;
    return request(url)
      .post('/v2/outbox')
      .set(accounts[posted % ACCOUNTS]?.bearer ?? {})
      .send({ to: [`to-${posted}@example.test`, ...to].map((email) => ({ email })) });
  };
  /**
   * Every stored message was handed off once. The change counters of the senders' sandbox mailboxes
   * count each hand-off.
   */
  const expectEachOnce = async () => {
    expect(
      await count(`select sum(modseq)::int as n from sandbox_mailbox where address like 'ada-%'`),
    ).toBe(await count('select count(*) as n from outbox_message'));
    const statuses = await sql.query<{ status: string }>('select distinct status from job_status');
    expect(statuses).toEqual([{ status: 'successful' }]);
    expect(await sql.query('select * from send_job')).toEqual([]);
  };

  it('finish the messages that have a hand-off marker, and release the others as if they had never been claimed', async () => {
    const api = await start('api');
    for (let n = 0; n < 40; n += 1) await post(api.url, ['slow+1@sandbox.test']).expect(202);
    // With few slots most messages are still waiting when the server is asked to stop, on a fast
    // machine too.
    const worker = await start('worker', { SEND_SLOTS: '2', SEND_PER_HOST: '2' });
    await until('some messages to be handed off', async () => (await handedOff()) > 0);
    const stopped = worker.stop();
    worker.stop().catch(() => undefined); // a second signal changes nothing
    expect(await stopped).toBe(0);
    const left = await sql.query<object>(
      'select distinct state, attempt, ambiguous, crashes, handoff_at from send_job',
    );
    expect(left).toEqual([
      { state: 0, attempt: 0, ambiguous: false, crashes: 0, handoff_at: null },
    ]);
    expect(await sql.query('select * from worker')).toEqual([]);

    // A request in progress still gets its response.
    const item = await post(api.url);
    let patched: PromiseLike<request.Response> | undefined;
    let apiStopped: Promise<number | null> | undefined;
    await sql.transaction(async (locking) => {
      await locking.query('select 1 from send_job where id = $1 for update', [
        item.body.job_status_id,
      ]);
      patched = request(api.url)
        .patch(`/v2/outbox/${item.body.job_status_id}`)
        .set(accounts[posted % ACCOUNTS]?.bearer ?? {})
        .send({ subject: 'edited' })
        .then((response) => response);
      const waiting = `select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until('the request to wait for the row lock', async () => (await count(waiting)) > 0);
      apiStopped = api.stop();
      await until('the server to stop listening', () =>
        request(api.url)
          .get('/health/live')
          .then(
            () => false,
            () => true,
          ),
      );
    });
    expect((await patched)?.status).toBe(200);
    expect(await apiStopped).toBe(0);

    await start('worker');
    await until('every job to end', async () => (await open()) === 0);
    await expectEachOnce();
    const attempts = await sql.query<object>(
      'select distinct attempt from job_attempt where attempt > 2',
    );
    expect(attempts).toEqual([]);
  }, 240_000);
});
