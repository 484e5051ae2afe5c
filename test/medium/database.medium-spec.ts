import { EntityManager } from '@mikro-orm/postgresql';
import { SqlPool } from '../../src/database/sql.ts';
import { SendDispatcher } from '../../src/outbox/send-dispatcher.ts';
import { queueStatements } from '../../src/scheduler/queue-statements.ts';
import { WebhookDispatcher } from '../../src/webhooks/webhook-dispatcher.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

describe('connections to the database', () => {
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

  it.each([SendDispatcher, WebhookDispatcher])(
    'of the engine read queues by index though they were empty when that was planned (%p)',
    async (type) => {
      const sql = pool(true);
      const { table } = server.app.get<SendDispatcher | WebhookDispatcher>(type);
      await sql.query(`vacuum (analyze) ${table.table}`);
      for (const [name, text] of Object.entries(queueStatements(table))) {
        const count = Math.max(...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
        const unknown = Array.from({ length: count }, () => 'null').join(', ');
        await sql.query(`prepare "${name}" as ${text}`, [], { prepared: false });
        const rows = await sql.query<{ 'QUERY PLAN': string }>(`explain execute "${name}" (${unknown})`);
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        expect(plan).toContain(` on ${table.table}`);
        expect(plan).not.toContain(`Seq Scan on ${table.table}`);
      }
    },
  );

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
