import { Database, type Sql } from '../../src/platform/database/sql.ts';
import { CLAIM_WATCHES, WatchLeases } from '../../src/sync/watches/watch-leases.ts';
import { createAccount, createApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const WATCHES = 20_000;
const WORKERS = 4;
const SHARE = WATCHES / WORKERS;
/** Pages of tables and indexes that a claim without a free watch may read. */
const MOST_PAGES = 100;

// The copies have the columns of one grant, and other keys. With `(function(…)).*` PostgreSQL
// would call the function once for each column.
const COPY_GRANT = `
  insert into "grant"
  select copy.* from "grant" g, generate_series(1, ${WATCHES}) n,
    jsonb_populate_record(g, jsonb_build_object('id', gen_random_uuid(), 'email', n || '@watches.test')) copy
  where g.id = $1`;
const ADD_WATCHES = `
  insert into mailbox_watch (account_id, worker_id, up_since)
  select g.id, w[1 + row_number() over () % ${WORKERS}], now()
  from "grant" g, (select array_agg(id) as w from worker) w where g.email like '%@watches.test'`;

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/**
 * The watches were added after the last `analyze`, so the planner takes the table for an empty one:
 * the least favourable case.
 */
describe('claims of watches', () => {
  let server: TestApp;
  let database: Database;
  let leases: WatchLeases;
  let workers: number[];

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    leases = server.app.get(WatchLeases);
    const [ada] = [await createAccount(server.app, await createApplication(server.app))];
    await database.query('vacuum analyze mailbox_watch', [], { prepared: false });
    const added = await database.query<{ id: number }>(
      `insert into worker (host, pid, seen_at)
       select 'test', n, now() + interval '1 h' from generate_series(1, ${WORKERS}) n returning id`,
    );
    workers = added.map(({ id }) => id);
    await database.query(COPY_GRANT, [ada.id]);
    await database.query(ADD_WATCHES);
  });
  afterAll(() => server.close());

  const planOf = async (sql: Sql, values: readonly unknown[]): Promise<PlanNode> => {
    const [row] = await sql.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, buffers, format json) ${CLAIM_WATCHES}`,
      values,
      { prepared: false },
    );
    if (!row) throw new Error('no plan');
    return row['QUERY PLAN'][0].Plan;
  };
  const rolledBack = async <T>(work: (sql: Sql) => Promise<T>): Promise<T> => {
    let result: T | undefined;
    const end = new Error('rolled back');
    await database
      .transaction(async (sql) => {
        result = await work(sql);
        throw end;
      })
      .catch((error: unknown) => {
        if (error !== end) throw error;
      });
    return result as T;
  };
  const reads = (plan: PlanNode) => {
    const nodes = nodesOf(plan);
    const executed = nodes.filter((node) => node['Actual Loops'] > 0);
    return {
      pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
      mostRows: Math.max(...executed.map((node) => node['Actual Rows'] * node['Actual Loops'])),
      wholeTables: nodes.filter(
        (node) => node['Node Type'] === 'Seq Scan' && node['Relation Name'] === 'mailbox_watch',
      ).length,
    };
  };

  it('read a few pages while every watch is leased, however many there are', async () => {
    for (const held of [SHARE, 0]) {
      const plan = await rolledBack((sql) => planOf(sql, [workers[0], 200, held, WATCHES]));
      const { pages, mostRows, wholeTables } = reads(plan);
      expect(wholeTables).toBe(0);
      expect(pages).toBeLessThan(MOST_PAGES);
      expect(mostRows).toBeLessThan(MOST_PAGES);
    }
  });

  it('read as many watches of a dead worker as they lease', async () => {
    const plan = await rolledBack(async (sql) => {
      await sql.query('delete from worker where id = $1', [workers[3]]);
      return planOf(sql, [workers[0], 200, 0, WATCHES]);
    });
    expect(plan['Actual Rows']).toBe(200);
    expect(reads(plan)).toMatchObject({ mostRows: 200, wholeTables: 0 });
  });

  it('read as many free watches as they lease', async () => {
    const plan = await rolledBack(async (sql) => {
      await sql.query('update mailbox_watch set worker_id = null where worker_id = $1', [
        workers[3],
      ]);
      return planOf(sql, [workers[0], 200, 0, WATCHES]);
    });
    expect(plan['Actual Rows']).toBe(200);
    expect(reads(plan)).toMatchObject({ mostRows: 200, wholeTables: 0 });
  });

  it('delete the watches of accounts that may not be watched, and read them once', async () => {
    const [first = 0] = workers;
    await database.query(
      `with freed as (
         update mailbox_watch set worker_id = null, retry_at = now() - interval '1 h'
         where account_id in (select account_id from mailbox_watch limit 200) returning account_id)
       update "grant" set status = 'invalid' where id in (select account_id from freed)`,
    );
    expect(await leases.claim(first, 200, 0, WATCHES)).toMatchObject({ leases: [] });
    expect(await leases.claim(first, 200, 0, null)).toMatchObject({ total: WATCHES - 200 });
  });
});
