import pg from 'pg';
import { SqlPool } from '../../src/platform/database/sql.ts';
import type { AnyDispatcher, QueueTable } from '../../src/platform/work/queue/dispatcher.ts';
import { DISPATCHERS } from '../../src/platform/work/engine.ts';
import {
  beatStatement,
  queueStatements,
  rescueStatement,
  sweepStatement,
  WORKER_LOCKS,
} from '../../src/platform/work/queue/queue-statements.ts';
import { QUEUES, type QueueName } from '../../src/platform/work/signals.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** Waiting rows of each queue, workers, and rows that each worker has claimed. */
const WAITING = 4_000;
const WORKERS = 8;
const CLAIMED_EACH = 50;
const CLAIMED = WORKERS * CLAIMED_EACH;
/** Rows that a statement of a batch changes. */
const BATCH = 40;
/** Candidates of a claim. */
const WINDOW = 100;
/** The worker that runs the statements. It has claimed rows and has the lowest id. */
const SELF = 1;
/** A worker that is no longer listed, one without a heartbeat, and one without a connection. */
const [UNLISTED, SILENT, DISCONNECTED] = [9, 8, 7];

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const isModification = (node: Plan) => node['Node Type'] === 'ModifyTable';

/** Rows that a node of a plan handled in all its loops, dropped rows included. */
const handled = (node: Plan): number =>
  node['Actual Loops'] *
  (node['Actual Rows'] +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0));

/** What a statement did, according to its plan. */
interface Work {
  /** Rows of queue tables that its scans read. */
  queueRows: number;
  /** Rows that all nodes of its plan handled. */
  allRows: number;
  /** Pages that it touched. */
  pages: number;
  /** Whether it finds rows of queue tables in the order in which they lie in the table. */
  hasBitmaps: boolean;
}

const extraColumns: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  send_job: { retry_limit_at: `now() + interval '1 day'` },
  provider_job: {
    action: `'update_event'`,
    object_id: 'gen_random_uuid()',
    payload: `'{}'`,
  },
  hook_job: { event_id: 'gen_random_uuid()', give_up_at: `now() + interval '1 day'` },
};

// To the planner, a table that was never vacuumed has ten pages, and one that a vacuum found empty
// has one row.
describe.each([
  { tables: 'new tables', vacuums: false },
  { tables: 'tables that a vacuum found empty', vacuums: true },
])('the statements of the engine, planned on $tables and run on full ones', ({ vacuums }) => {
  let server: TestApp;
  let sql: SqlPool;
  /** Its connection has the locks of the workers that are connected. */
  let workers: pg.Client;
  let queues: { table: QueueTable; late: boolean }[];
  const statements = new Map<string, string>();

  /**
   * Runs a prepared statement in a transaction that is rolled back.
   * @param values SQL of its parameters
   */
  const work = async (name: string, values: readonly string[]): Promise<Work> => {
    const parameters = values.length === 0 ? '' : `(${values.join(', ')})`;
    await sql.query('begin');
    const [row] = await sql.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, buffers, timing off, format json) execute "${name}"${parameters}`,
      [],
      { prepared: false },
    );
    await sql.query('rollback');
    if (!row) throw new Error('no plan');
    const plan = row['QUERY PLAN'][0].Plan;
    const nodes = nodesOf(plan);
    const scans = nodes.filter(
      (node) => node['Relation Name']?.endsWith('_job') && !isModification(node),
    );
    const sum = (of: readonly Plan[]) => of.reduce((total, node) => total + handled(node), 0);
    return {
      queueRows: sum(scans),
      allRows: sum(nodes),
      pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
      hasBitmaps: scans.some((node) => node['Node Type'] === 'Bitmap Heap Scan'),
    };
  };

  /** Fills a queue, in part with rows that workers have claimed. */
  const fill = async ({ table, gateColumn }: QueueTable) => {
    const extra = Object.entries(extraColumns[table] ?? {});
    const names = extra.map(([name]) => `, ${name}`).join('');
    const values = extra.map(([, value]) => `, ${value}`).join('');
    await sql.query(
      `insert into ${table} (id, ${gateColumn}, run_at, due_at, fence, state, worker_id${names})
       select gen_random_uuid(), gen_random_uuid(), now() - interval '1 s', now(), 1,
         case when i <= ${CLAIMED} then 1 else 0 end,
         case when i <= ${CLAIMED} then 1 + i % ${WORKERS} end${values}
       from generate_series(1, ${CLAIMED + WAITING}) i`,
      [],
      { prepared: false },
    );
    // The rows of one worker belong to one that is no longer listed.
    await sql.query(
      `update ${table} set worker_id = ${UNLISTED} where worker_id = ${SILENT} and get_byte(uuid_send(id), 15) < 128`,
      [],
      { prepared: false },
    );
  };

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    sql = new SqlPool({
      url: server.database.url,
      max: 1,
      statementTimeoutMs: 20_000,
      applicationName: 'test',
      steadyPlans: true,
    });
    queues = server.app
      .get<AnyDispatcher[]>(DISPATCHERS)
      .map(({ table, recordLate }) => ({ table, late: recordLate !== undefined }));
    if (vacuums) await sql.query('vacuum (analyze) worker');
    const tables = queues.map(({ table }) => table);
    for (const { table, late } of queues) {
      // A later analysis would make new plans.
      await sql.query(`alter table ${table.table} set (autovacuum_enabled = off)`);
      if (vacuums) await sql.query(`vacuum (analyze) ${table.table}`);
      for (const [name, text] of Object.entries(queueStatements(table, late)))
        if (text !== null) statements.set(`${table.queue} ${name}`, text as string);
    }
    statements.set('beat', beatStatement(tables));
    statements.set('sweep', sweepStatement(tables));
    statements.set('rescue', rescueStatement(tables) ?? '');
    for (const [name, text] of statements) {
      await sql.query(`prepare "${name}" as ${text}`, [], { prepared: false });
      const count = Math.max(...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
      await work(
        name,
        Array.from({ length: count }, () => 'null'),
      );
    }
    // Accounts and webhooks of the rows do not exist.
    await sql.query('set session_replication_role = replica');
    for (const { table } of queues) await fill(table);
    await sql.query(
      `insert into worker (id, host, pid, seen_at)
       select i, 'host', i, case when i = ${SILENT} then now() - interval '1 h' else now() + interval '1 h' end
       from generate_series(1, ${WORKERS}) i`,
    );
    workers = new pg.Client(server.database.url);
    await workers.connect();
    await workers.query(
      `select pg_advisory_lock(${WORKER_LOCKS}, id) from worker where id not in (${SILENT}, ${DISCONNECTED})`,
    );
  });
  afterAll(async () => {
    await Promise.all([sql.close(), workers.end()]);
    await server.close();
  });

  /** Ids and fences of rows that this worker has claimed, as SQL of two arrays. */
  const batchOf = async (table: string, count: number): Promise<[string, string]> => {
    const rows = await sql.query<{ id: string; fence: number }>(
      `select id, fence from ${table} where state = 1 and worker_id = ${SELF} order by id limit $1`,
      [count],
    );
    expect(rows).toHaveLength(count);
    return [
      `'{${rows.map(({ id }) => id).join(',')}}'`,
      `'{${rows.map(({ fence }) => fence).join(',')}}'`,
    ];
  };
  const each = (value: string) => `'{${Array.from({ length: BATCH }, () => value).join(',')}}'`;

  const tableOf = (queue: QueueName): string =>
    queues.find(({ table }) => table.queue === queue)?.table.table ?? '';

  it.each(QUEUES)(
    'locks and changes the rows of a batch of the queue %s in the order of their ids, without reading others',
    async (queue) => {
      const [ids, fences] = await batchOf(tableOf(queue), BATCH);
      const workers = each(`${SELF}`);
      const batches: Record<string, string[]> = {
        handOff: [ids, fences, `${SELF}`],
        load: [ids, fences, `${SELF}`, each('true')],
        lock: [ids],
        finish: [ids, fences, workers],
        again: [ids, fences, workers, each('2026-01-01'), each('true')],
        release: [ids, fences, workers, '1000'],
      };
      for (const [name, values] of Object.entries(batches)) {
        if (!statements.has(`${queue} ${name}`)) continue;
        const done = await work(`${queue} ${name}`, values);
        expect(done.queueRows).toBeGreaterThanOrEqual(BATCH);
        expect(done.queueRows).toBeLessThanOrEqual(3 * BATCH);
        expect(done.pages).toBeLessThan(40 * BATCH);
        expect(done.hasBitmaps).toBe(false);
      }
    },
  );

  it.each(QUEUES)(
    'claims rows of the queue %s without reading more of it than the window',
    async (queue) => {
      const values = [`${WINDOW}`, `${SELF}`, `'-infinity'`, `${WINDOW}`, '8', `'{}'`];
      for (const newest of [0, WINDOW]) {
        const done = await work(`${queue} claim`, [...values, `${newest}`]);
        const candidates = WINDOW + newest;
        expect(done.queueRows).toBeGreaterThanOrEqual(candidates);
        expect(done.queueRows).toBeLessThanOrEqual(5 * candidates);
        // The candidates are compared with their rate gates, in memory.
        expect(done.allRows).toBeLessThan(3 * candidates * candidates);
      }
    },
  );

  it.each(QUEUES)(
    'gives rows of the queue %s back without reading unclaimed rows',
    async (queue) => {
      const [ids, fences] = await batchOf(tableOf(queue), CLAIMED_EACH / 2);
      for (const [name, values] of [
        ['reclaim', [`${SELF}`, ids, fences, `'{}'`]],
        ['forgive', [`${SELF}`]],
      ] as const) {
        const done = await work(`${queue} ${name}`, values);
        expect(done.queueRows).toBeGreaterThanOrEqual(CLAIMED_EACH / 2);
        expect(done.queueRows).toBeLessThan(2 * CLAIMED);
        expect(done.allRows).toBeLessThan(6 * CLAIMED);
      }
    },
  );

  it('sweeps and rescues without reading unclaimed rows', async () => {
    const swept = await work('sweep', ['true']);
    expect(swept.queueRows).toBeLessThan(2 * CLAIMED * queues.length);
    expect(swept.queueRows).toBeGreaterThanOrEqual(CLAIMED_EACH * queues.length);
    expect(swept.allRows).toBeLessThan(8 * CLAIMED * queues.length);
    const rescued = await work('rescue', [`${SELF}`]);
    expect(rescued.queueRows).toBeLessThan(2 * CLAIMED * queues.length);
    expect(rescued.queueRows).toBeGreaterThanOrEqual(CLAIMED_EACH);
    expect(rescued.allRows).toBeLessThan(8 * CLAIMED * queues.length);
  });

  it('reads claimed rows for the heartbeat of the leader only', async () => {
    const ofLeader = await work('beat', [`${SELF}`]);
    expect(ofLeader.queueRows).toBeGreaterThan(queues.length);
    expect(ofLeader.queueRows).toBeLessThan(2 * CLAIMED * queues.length);
    const other = await work('beat', [`${SELF + 1}`]);
    // The next due row of each queue.
    expect(other.queueRows).toBe(queues.length);
    expect(other.pages).toBeLessThan(100);
  });
});
