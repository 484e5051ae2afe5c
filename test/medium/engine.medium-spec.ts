import { Logger } from '@nestjs/common';
import { Wake } from '../../src/common/wake.ts';
import type {
  ClaimedJob,
  Dispatcher,
  Lease,
  Outcome,
  QueueTable,
  Settled,
} from '../../src/common/work/dispatcher.ts';
import { type AppConfig, loadConfig } from '../../src/config/app-config.ts';
import { type Sql, SqlPool } from '../../src/database/sql.ts';
import { newId } from '../../src/common/ids/ids.ts';
import { Engine } from '../../src/scheduler/engine.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const TABLE: QueueTable = { queue: 'send', table: 'send_job', gateColumn: 'account_id', columns: {} };

/** Runs rows by a function of the test and remembers what was recorded. */
class ProbeDispatcher implements Dispatcher<ClaimedJob, string> {
  readonly table = TABLE;
  readonly recorded: string[] = [];
  readonly begun: string[] = [];
  failRecord: (ids: readonly string[]) => boolean = () => false;

  constructor(
    readonly slots: number,
    private readonly work: (job: ClaimedJob, lease: Lease) => Promise<Outcome<string>>,
  ) {}

  run(job: ClaimedJob, lease: Lease): Promise<Outcome<string>> {
    this.begun.push(job.id);
    return this.work(job, lease);
  }

  onError(job: ClaimedJob): Outcome<string> {
    return { next: { kind: 'done' }, result: `error ${job.id}` };
  }

  onPoison(job: ClaimedJob): Outcome<string> {
    return { next: { kind: 'done' }, result: `poison ${job.id}` };
  }

  async record(_sql: Sql, settled: readonly Settled<ClaimedJob, string>[]): Promise<void> {
    if (this.failRecord(settled.map(({ job }) => job.id))) throw new Error('a record that cannot be written');
    for (const { result } of settled) this.recorded.push(result);
  }
}

const done = (job: ClaimedJob): Outcome<string> => ({ next: { kind: 'done' }, result: job.id });

describe('Engine', () => {
  let database: TestDatabase;
  let sql: SqlPool;
  let config: AppConfig;
  const engines: Engine[] = [];
  // The tick is Nest's cron in the product; here it is ours.
  const ticking = setInterval(() => void Promise.all(engines.map((engine) => engine.tick())), 100);
  afterAll(() => clearInterval(ticking));

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(async () => {
    database = await createTestDatabase();
    config = loadConfig({
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
      SHUTDOWN_SECONDS: '2',
    });
    sql = new SqlPool({ url: database.url, max: 4, statementTimeoutMs: 5000, applicationName: 'test' });
  });
  afterEach(async () => {
    for (const engine of engines.splice(0)) await stop(engine);
    await sql.close();
    await database.drop();
  });

  const begin = async (dispatcher: ProbeDispatcher) => {
    const engine = new Engine(config, [dispatcher], new Wake());
    engines.push(engine);
    await engine.onApplicationBootstrap();
    return engine;
  };
  const stop = async (engine: Engine) => {
    const index = engines.indexOf(engine);
    if (index >= 0) engines.splice(index, 1);
    await engine.onModuleDestroy();
    await engine.beforeApplicationShutdown();
    await engine.onApplicationShutdown();
  };
  const put = async (count: number, account = newId(), dueInMs = 0) => {
    const ids = Array.from({ length: count }, newId);
    await sql.query(
      `insert into send_job (id, account_id, run_at, due_at, retry_limit_at)
       select id, $2, now() + $3 * interval '1 ms', now(), now() + interval '1 day' from unnest($1::uuid[]) id`,
      [ids, account, dueInMs],
    );
    return ids;
  };
  const rows = () =>
    sql.query<{ id: string; state: number; attempt: number; ambiguous: boolean; crashes: number }>(
      'select * from send_job',
    );
  const empty = () => until('the queue to be empty', async () => (await rows()).length === 0);

  it('runs every due row once and removes it', async () => {
    const ids = [...(await put(30)), ...(await put(30))];
    const dispatcher = new ProbeDispatcher(16, async (job, lease) => {
      expect(await lease.handOff()).toBe(true);
      return done(job);
    });
    const engine = await begin(dispatcher);
    engine.wakeQueue('send');
    await empty();
    expect([...dispatcher.begun].sort()).toEqual([...ids].sort());
    expect([...dispatcher.recorded].sort()).toEqual([...ids].sort());
  });

  it('shares the rows between two engines without running any twice', async () => {
    const ids = (await Promise.all(Array.from({ length: 10 }, () => put(12)))).flat();
    const one = new ProbeDispatcher(8, async (job) => done(job));
    const two = new ProbeDispatcher(8, async (job) => done(job));
    await Promise.all([begin(one), begin(two)]);
    await empty();
    expect([...one.begun, ...two.begun].sort()).toEqual([...ids].sort());
  });

  it('does not run a row before its time', async () => {
    const [id] = await put(1, newId(), 700);
    const startedAt: number[] = [];
    const { dueAt } = { dueAt: performance.now() + 650 };
    const dispatcher = new ProbeDispatcher(8, async (job) => {
      startedAt.push(performance.now());
      return done(job);
    });
    await begin(dispatcher);
    await empty();
    expect(dispatcher.begun).toEqual([id]);
    expect(startedAt[0]).toBeGreaterThanOrEqual(dueAt);
  });

  it('takes no more rows of one account than its gate allows, so that others are served', async () => {
    const crowd = newId();
    await put(100, crowd);
    const [other] = await put(1);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const dispatcher = new ProbeDispatcher(50, async (job) => {
      if (job.gateId === crowd) await held;
      return done(job);
    });
    await begin(dispatcher);
    await until('the other account', async () => dispatcher.recorded.includes(other ?? ''));
    expect(dispatcher.begun.filter((id) => id !== other)).toHaveLength(8);
    release();
  });

  it('gives back what a dead worker held, as doubtful where it had been handed off', async () => {
    const [plain, marked] = await put(2, newId(), 3_600_000);
    await sql.query(
      `insert into worker (id, host, pid, seen_at) values (77, 'gone', 1, now() - interval '9 s')`,
    );
    await sql.query(
      `update send_job set state = 1, worker_id = 77, fence = 3, attempt = 1,
       handoff_at = case when id = $1 then now() end`,
      [marked],
    );
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    await begin(dispatcher);
    await until('the undisputed row to run', async () => dispatcher.recorded.includes(plain ?? ''));
    const left = await rows();
    expect(left).toMatchObject([{ id: marked, state: 0, ambiguous: true, crashes: 1 }]);
  });

  it('gives back rows of a worker that is not known at all', async () => {
    const [id] = await put(1);
    await sql.query('update send_job set state = 1, worker_id = 4711');
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    await begin(dispatcher);
    await until('the row to run', async () => dispatcher.recorded.includes(id ?? ''));
  });

  it('ignores the result of a row that was given to somebody else meanwhile', async () => {
    const [id] = await put(1);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const dispatcher = new ProbeDispatcher(8, async (job) => {
      await held;
      return done(job);
    });
    await begin(dispatcher);
    await until('the run to begin', async () => dispatcher.begun.length === 1);
    await sql.query(`insert into worker (id, host, pid) values (4711, 'another', 1)`);
    await sql.query('update send_job set fence = fence + 1, worker_id = 4711');
    release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await rows()).toMatchObject([{ id, state: 1 }]);
    await sql.query(`update worker set seen_at = now() - interval '9 s' where id = 4711`);
    await empty();
    expect(dispatcher.begun).toEqual([id, id]);
    expect(dispatcher.recorded).toEqual([id]);
  });

  it('refuses the hand-off of a row that is not ours any more', async () => {
    await put(1);
    const answers: boolean[] = [];
    const dispatcher = new ProbeDispatcher(8, async (job, lease) => {
      if (answers.length === 0) await sql.query('delete from send_job where id = $1', [job.id]);
      answers.push(await lease.handOff());
      return done(job);
    });
    await begin(dispatcher);
    await until('the answer', async () => answers.length > 0);
    expect(answers).toEqual([false]);
    expect(dispatcher.recorded).toEqual([]);
  });

  it('records the neighbours of a record that cannot be written, and keeps that row', async () => {
    const ids = await put(5);
    const bad = ids[2] ?? '';
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    dispatcher.failRecord = (batch) => batch.includes(bad);
    await begin(dispatcher);
    await until('the others', async () => dispatcher.recorded.length === 4);
    expect((await rows()).map(({ id }) => id)).toEqual([bad]);
  });

  it('turns what a dispatcher throws into its own outcome', async () => {
    const [id] = await put(1);
    const dispatcher = new ProbeDispatcher(8, () => Promise.reject(new Error('boom')));
    await begin(dispatcher);
    await empty();
    expect(dispatcher.recorded).toEqual([`error ${id}`]);
  });

  it('sets a row aside that has ended its worker again and again', async () => {
    const [id] = await put(1);
    await sql.query('update send_job set crashes = 5');
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    await begin(dispatcher);
    await empty();
    expect(dispatcher.begun).toEqual([]);
    expect(dispatcher.recorded).toEqual([`poison ${id}`]);
  });

  it('gives back on stop what was not handed off, finishes the rest, and takes its name away', async () => {
    await put(2);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let handed = '';
    const dispatcher = new ProbeDispatcher(8, async (job, lease) => {
      if (!handed) {
        handed = job.id;
        expect(await lease.handOff()).toBe(true);
        await held;
      } else {
        await new Promise((resolve) => lease.signal.addEventListener('abort', resolve, { once: true }));
      }
      return done(job);
    });
    const engine = await begin(dispatcher);
    await until('both to begin', async () => dispatcher.begun.length === 2);
    const stopped = stop(engine);
    release();
    await stopped;
    expect(dispatcher.recorded).toEqual([handed]);
    expect(await rows()).toMatchObject([{ state: 0, attempt: 0, ambiguous: false }]);
    expect(await sql.query('select * from worker')).toEqual([]);
  });

  it('takes a new name when its own was taken away, and goes on', async () => {
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    const engine = await begin(dispatcher);
    await sql.query('delete from worker');
    await engine.tick();
    const [id] = await put(1);
    engine.wakeQueue('send');
    await until('the row', async () => dispatcher.recorded.includes(id ?? ''));
    expect(await sql.query('select * from worker')).toHaveLength(1);
  });
});
