import { Logger } from '@nestjs/common';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import {
  confirmIdentity,
  currentIdentity,
} from '../../src/platform/work/workers/database-identity.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { Engine } from '../../src/platform/work/engine.ts';
import { done, ProbeDispatcher } from '../support/engine-fixture.ts';
import {
  copyTestDatabase,
  createTestDatabase,
  replaceTestDatabase,
  type TestDatabase,
} from '../support/test-database.ts';
import { until } from '../support/until.ts';

const KEYS = `k:${Buffer.alloc(32).toString('base64')}`;
const configOf = ({ url }: TestDatabase) =>
  loadConfig({ DATABASE_URL: url, ENCRYPTION_KEYS: KEYS, SHUTDOWN_SECONDS: '1' });

describe('Engine on a restored database', () => {
  const databases: TestDatabase[] = [];
  const engines: Engine[] = [];
  let ticking: NodeJS.Timeout;

  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(() => {
    ticking = setInterval(() => void Promise.all(engines.map((engine) => engine.tick())), 50);
  });
  afterEach(async () => {
    clearInterval(ticking);
    await Promise.all(engines.splice(0).map(stop));
    await Promise.all(databases.splice(0).map((each) => each.drop()));
  });

  const keep = (database: TestDatabase) => {
    databases.push(database);
    return database;
  };
  async function begin(database: TestDatabase, dispatcher: ProbeDispatcher): Promise<Engine> {
    const engine = new Engine(configOf(database), [dispatcher], new Signals());
    engines.push(engine);
    await engine.onApplicationBootstrap();
    return engine;
  }
  async function stop(engine: Engine): Promise<void> {
    await engine.onModuleDestroy();
    await engine.beforeApplicationShutdown();
    await engine.onApplicationShutdown();
  }
  async function on<T>(database: TestDatabase, work: (sql: SqlPool) => Promise<T>): Promise<T> {
    const sql = new SqlPool({
      url: database.url,
      max: 1,
      statementTimeoutMs: 5000,
      applicationName: 'test',
    });
    try {
      return await work(sql);
    } finally {
      await sql.close();
    }
  }
  const put = (database: TestDatabase) =>
    on(database, async (sql) => {
      const id = newId();
      await sql.query(
        `insert into send_job (id, account_id, run_at, due_at, retry_limit_at)
         values ($1, $1, now(), now(), now() + interval '1 day')`,
        [id],
      );
      return id;
    });
  const rows = (database: TestDatabase) =>
    on(database, (sql) => sql.query('select id, state, attempt, run_at, fence from send_job'));
  const confirm = (database: TestDatabase) =>
    on(database, async (sql) =>
      confirmIdentity(sql, await currentIdentity(sql, configOf(database))),
    );
  const probe = () => new ProbeDispatcher(8, async (job) => done(job));

  it('changes nothing in a copy, reports the reason, and starts when the operator confirms', async () => {
    const original = keep(await createTestDatabase());
    await confirm(original);
    const id = await put(original);
    const copy = keep(await copyTestDatabase(original));
    const before = await rows(copy);
    const dispatcher = probe();
    const engine = await begin(copy, dispatcher);
    for (let index = 0; index < 5; index += 1) {
      engine.wakeQueue('send');
      await engine.tick();
    }
    expect(engine.instanceProblem).toContain('carillon instance confirm');
    expect(engine.stallProblem).toBeNull();
    expect(dispatcher.begun).toEqual([]);
    expect(await rows(copy)).toEqual(before);
    expect(await on(copy, (sql) => sql.query('select from worker'))).toEqual([]);
    await confirm(copy);
    await until('the row to run', async () => dispatcher.recorded.includes(id));
    expect(engine.instanceProblem).toBeNull();
  });

  it('stops when its database is replaced by a copy', async () => {
    const original = keep(await createTestDatabase());
    await confirm(original);
    const overdue = await put(original);
    const copy = await copyTestDatabase(original);
    const dispatcher = probe();
    const engine = await begin(original, dispatcher);
    await until('the row to run', async () => (await rows(original)).length === 0);
    await replaceTestDatabase(original, copy);
    await until('the engine to notice the copy', async () => engine.instanceProblem !== null);
    expect(dispatcher.recorded).toEqual([overdue]);
    expect(await rows(original)).toMatchObject([{ id: overdue, state: 0, attempt: 0 }]);
    await confirm(original);
    await until('the row to run', async () => dispatcher.recorded.length === 2);
  });

  it('continues when its connections are cut and the database stays the same', async () => {
    const database = keep(await createTestDatabase());
    const dispatcher = probe();
    const engine = await begin(database, dispatcher);
    await on(database, (sql) =>
      sql.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`,
      ),
    );
    const id = await put(database);
    await until('the row to run', async () => {
      engine.wakeQueue('send');
      return dispatcher.recorded.includes(id);
    });
    expect(engine.instanceProblem).toBeNull();
  });
});
