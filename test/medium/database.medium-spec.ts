import { EntityManager } from '@mikro-orm/postgresql';
import { SqlPool } from '../../src/database/sql.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

describe('connections to the database', () => {
  let server: TestApp;
  const pools: SqlPool[] = [];
  const pool = () => {
    const made = new SqlPool({
      url: server.database.url,
      max: 1,
      statementTimeoutMs: 2_000,
      applicationName: 'test',
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

  it('that break in the middle of a transaction fail the transaction, not the process', async () => {
    const [sql, other] = [pool(), pool()];
    const broken = sql.transaction(async (inside) => {
      const [row] = await inside.query<{ pid: number }>('select pg_backend_pid() as pid');
      await other.query('select pg_terminate_backend($1)', [row?.pid]);
      await until('the connection to be gone', async () => {
        const rows = await other.query('select 1 from pg_stat_activity where pid = $1', [row?.pid]);
        return rows.length === 0;
      });
      await inside.query('select 1');
    });
    await expect(broken).rejects.toThrow(/terminat|closed|not queryable/);
    expect(await sql.query<{ one: number }>('select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('wait for nothing for ever, those of the ORM neither', async () => {
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
