import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { SqlPool } from '../../src/database/sql.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const MESSAGES = 120;

describe('a server that is killed in the middle of its work', () => {
  const encryptionKeys = `k:${randomBytes(32).toString('base64')}`;
  let seed: TestApp;
  let ada: TestAccount;
  let sql: SqlPool;
  const servers: ServerProcess[] = [];

  beforeAll(async () => {
    // Only to write the account and to ask: the work is done by processes that die.
    seed = await startTestApp({ ROLES: 'api', ENCRYPTION_KEYS: encryptionKeys });
    ada = await createAccount(seed.app, await createApplication(seed.app), { email: 'ada@sandbox.test' });
    sql = new SqlPool({ url: seed.database.url, max: 2, statementTimeoutMs: 5000, applicationName: 'test' });
  });
  afterAll(async () => {
    for (const server of servers) await server.kill();
    await sql.close();
    await seed.close();
  });

  const start = async () => {
    const server = await startServerProcess({
      DATABASE_URL: seed.database.url,
      ENCRYPTION_KEYS: encryptionKeys,
    });
    servers.push(server);
    return server;
  };
  const open = async () => {
    const [row] = await sql.query<{ n: number }>(
      `select count(*) as n from job_status where status in ('pending', 'delayed')`,
    );
    return row?.n ?? 0;
  };

  it('gives every accepted message its end, and sends none twice', async () => {
    let server = await start();
    const accepted: string[] = [];
    const killer = (async () => {
      for (let round = 0; round < 3; round += 1) {
        await until('some work to be done', async () => accepted.length >= (round + 1) * 30);
        await server.kill();
        server = await start();
      }
    })();
    for (let sent = 0; accepted.length < MESSAGES && sent < MESSAGES * 20; sent += 1) {
      const response = await request(server.url)
        .post('/v2/outbox')
        .set(ada.bearer)
        .send({ to: [{ email: `to-${sent}@example.test` }], subject: `message ${sent}` })
        .catch(() => null); // the server that was asked has just been killed: nothing was promised
      if (response?.status === 202) accepted.push(response.body.job_status_id);
      else await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await killer;
    expect(accepted).toHaveLength(MESSAGES);
    await until('every job to end', async () => (await open()) === 0, 60_000);

    const ended = await sql.query<{ id: string; status: string }>(
      'select id, status from job_status where id = any($1::uuid[])',
      [accepted],
    );
    expect(ended).toHaveLength(MESSAGES);
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['successful']));
    // Killed requests may have been accepted without an answer: what counts is what was stored.
    const [stored] = await sql.query<{ n: number }>('select count(*) as n from outbox_message');
    // The sandbox keeps one copy per Message-ID, but its counter grows with every hand-over: a second one would show.
    const handOvers = await sql.query<{ handOvers: number; copies: number }>(
      `select modseq as "handOvers", (select count(*) from sandbox_message m where m.address = b.address) as copies
       from sandbox_mailbox b where address = 'ada@sandbox.test'`,
    );
    expect(handOvers).toEqual([{ handOvers: stored?.n, copies: stored?.n }]);
    expect(await sql.query('select * from send_job')).toEqual([]);
    expect(await servers.at(-1)?.stop()).toBe(0);
  }, 180_000);
});
