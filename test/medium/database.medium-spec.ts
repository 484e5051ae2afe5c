import { EntityManager } from '@mikro-orm/postgresql';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { transitionJobs } from '../../src/job-statuses/jobs.ts';
import { createAccount, createApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

describe('the database layer', () => {
  let server: TestApp;
  const pools: SqlPool[] = [];
  const pool = (steadyPlans = false) => {
    const made = new SqlPool({
      url: server.database.url,
      max: 1,
      statementTimeoutMs: 2_000,
      applicationName: 'test',
      steadyPlans,
    });
    pools.push(made);
    return made;
  };
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
  });
  afterAll(async () => {
    for (const made of pools) await made.close();
    await server.close();
  });

  it('fails the transaction but not the process when a connection breaks in the middle of it', async () => {
    const [sql, other] = [pool(), pool()];
    const broken = sql.transaction(async (inside) => {
      const [row] = await inside.query<{ pid: number }>('select pg_backend_pid() as pid');
      await other.query('select pg_terminate_backend($1)', [row?.pid]);
      await until('the connection to be closed', async () => {
        const rows = await other.query('select 1 from pg_stat_activity where pid = $1', [row?.pid]);
        return rows.length === 0;
      });
      await inside.query('select 1');
    });
    await expect(broken).rejects.toThrow(/terminat|closed|not queryable/);
    expect(await sql.query<{ one: number }>('select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('reports a statement that fails with the place in the program that sent it', async () => {
    const sentFromHere = () => pool().query('select 1 / 0');
    const error = await sentFromHere().catch((cause: Error) => cause);
    expect(error).toMatchObject({ code: '22012', stack: expect.stringMatching(/SqlPool/) });
    const inside = await pool()
      .transaction((sql) => sql.query('select nothing'))
      .catch((cause: Error) => cause);
    expect(inside).toMatchObject({ code: '42703', stack: expect.stringMatching(/transaction/) });
  });

  it('closes a connection on which the server does not answer, and goes on with another one', async () => {
    const sql = pool();
    const [row] = await sql.query<{ pid: number }>('select pg_backend_pid() as pid');
    const pid = row?.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    try {
      await expect(sql.query('select 1')).rejects.toThrow('Connection terminated');
      expect(await sql.query('select 1 as one')).toEqual([{ one: 1 }]);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  });

  it('runs work exclusively: nowhere else at the same time, and again after it ended or failed', async () => {
    const [sql, other] = [pool(), pool()];
    const [key, ran]: [number, string[]] = [727_999, []];
    const first = await sql.exclusively(key, async (connection) => {
      const refused = await other.exclusively(key, async () => void ran.push('meanwhile'));
      await connection.transaction((open) => open.query('select 1'));
      const [limit] = await connection.query('show idle_session_timeout');
      expect(limit).toEqual({ idle_session_timeout: '1min' });
      ran.push(`first, other: ${refused}`);
    });
    expect(await sql.query('show idle_session_timeout')).toEqual([{ idle_session_timeout: '0' }]);
    const failing = sql.exclusively(key, () => Promise.reject(new Error('failed')));
    await expect(failing).rejects.toThrow('failed');
    await until('the lock to end with its connection', () =>
      other.exclusively(key, async () => void ran.push('after')),
    );
    expect([first, ...ran]).toEqual([true, 'first, other: false', 'after']);
  });

  it('lets the engine find jobs by index even when the statement was planned on an empty table', async () => {
    const sql = pool(true);
    const ada = await createAccount(server.app, await createApplication(server.app));
    await sql.query('vacuum (analyze) job_status');
    await transitionJobs(sql, [{ id: newId(), to: 'successful' }], new Date());
    const opened = await sql.query<{ id: string }>(
      `insert into job_status (id, account_id, action, object, status)
       select gen_random_uuid(), $1, 'new_outbox', 'message', 'pending' from generate_series(1, 2000) returning id`,
      [ada.id],
    );
    const moves = opened.slice(0, 20).map(({ id }) => ({ id, to: 'successful' as const }));
    const read = await sql.transaction(async (inside) => {
      expect(await transitionJobs(inside, moves, new Date())).toHaveLength(20);
      const [row] = await inside.query<{ rows: number }>(
        `select seq_tup_read + idx_tup_fetch as rows from pg_stat_xact_user_tables where relname = 'job_status'`,
      );
      return row?.rows;
    });
    expect(read).toBeLessThan(200);
  });

  it('limits every wait, including those of the ORM', async () => {
    const limits = `
      select name, setting::int as ms from pg_settings
      where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') order by name`;
    const rows = [
      { name: 'idle_in_transaction_session_timeout', ms: 10_000 },
      { name: 'lock_timeout', ms: 7_500 },
      { name: 'statement_timeout', ms: 15_000 },
    ];
    const em = server.app.get(EntityManager).fork();
    expect(await em.getConnection().execute(limits)).toEqual(rows);
  });
});
