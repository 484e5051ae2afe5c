import { spawnSync } from 'node:child_process';
import { EntityManager } from '@mikro-orm/postgresql';
import { Application } from '../../src/accounts/applications/application.entity.ts';
import { sqlOf } from '../../src/platform/database/orm-transactions.ts';
import { Readiness } from '../../src/platform/work/readiness.ts';
import { Database, type Sql, SqlPool } from '../../src/platform/database/sql.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const POOL = 2;
/** A program that ends all other connections to the database. */
const END_ALL = `
  import pg from 'pg';
  const client = new pg.Client({ connectionString: process.env.URL_OF_TEST });
  await client.connect();
  await client.query(
    "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()");
  await client.end();`;

/**
 * Connections end in the middle of a transaction when a database restarts or an administrator
 * closes them.
 */
describe('connections that are lost in the middle of a transaction', () => {
  let server: TestApp;
  let other: SqlPool;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api', DATABASE_POOL: String(POOL) });
    const { url } = server.database;
    other = new SqlPool({ url, max: 1, statementTimeoutMs: 5000, applicationName: 'test' });
  });
  afterAll(async () => {
    await other.close();
    await server.close();
  });

  const lose = async (sql: Sql) => {
    const [row] = await sql.query<{ pid: number }>('select pg_backend_pid() as pid');
    await other.query('select pg_terminate_backend($1)', [row?.pid]);
    // The connection is idle between two statements, so the loss is noticed before the next one.
    await until('the connection to be closed', async () => {
      const rows = await other.query('select 1 from pg_stat_activity where pid = $1', [row?.pid]);
      return rows.length === 0;
    });
    await sql.query('select 1');
  };

  it('are replaced by the request pool', async () => {
    const database = server.app.get(Database);
    for (let times = 0; times <= POOL; times += 1)
      await expect(database.transaction(lose)).rejects.toThrow();
    expect(await database.query('select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('do not make a process unready if they were idle in its pools', async () => {
    const database = server.app.get(Database);
    // The pool opens all of its connections.
    await Promise.all(Array.from({ length: POOL }, () => database.query('select pg_sleep(0.1)')));
    // While this process stands still, it reads nothing of what the server says.
    const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', END_ALL], {
      env: { ...process.env, URL_OF_TEST: server.database.url },
      cwd: import.meta.dirname,
    });
    expect(status).toBe(0);
    const results = await server.app.get(Readiness).results();
    expect(results.filter(({ problem }) => problem !== null)).toEqual([]);
  });

  it('are replaced by the pool of the ORM', async () => {
    const em = server.app.get(EntityManager);
    for (let times = 0; times <= POOL; times += 1) {
      await expect(em.transactional((inner) => lose(sqlOf(inner)))).rejects.toThrow();
    }
    expect(await em.fork().count(Application, {})).toBe(0);
  });
});
