import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const WORKER = fileURLToPath(new URL('../support/mortal-worker.ts', import.meta.url));

/** Number of random worker deaths. */
const ROUNDS = 12;

describe('quarantine of rows that kill their worker', () => {
  let database: TestDatabase;
  let sql: SqlPool;
  const workers: (ChildProcess | null)[] = [];
  let deaths: number;
  let restarts: boolean;

  beforeEach(async () => {
    database = await createTestDatabase();
    sql = new SqlPool({
      url: database.url,
      max: 2,
      statementTimeoutMs: 5000,
      applicationName: 'test',
    });
    await sql.query('create table ended (id uuid, how text)');
    deaths = 0;
    restarts = true;
  });
  afterEach(async () => {
    restarts = false;
    for (const worker of workers) worker?.kill('SIGKILL');
    await until('the workers to end', async () => workers.every((worker) => worker === null));
    workers.length = 0;
    await sql.close();
    await database.drop();
  });

  /** Restarts a worker process whenever it ends, as a supervisor does. */
  function keep(slot: number, environment: Readonly<Record<string, string>> = {}): void {
    const worker = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', WORKER], {
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL: database.url,
        ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
        ...environment,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    workers[slot] = worker;
    worker.once('exit', () => {
      workers[slot] = null;
      deaths += 1;
      if (restarts) keep(slot, environment);
    });
  }

  const put = async (count: number) => {
    const ids = Array.from({ length: count }, newId);
    await sql.query(
      `insert into send_job (id, account_id, run_at, due_at, retry_limit_at)
       select id, gen_random_uuid(), now(), now(), now() + interval '1 day' from unnest($1::uuid[]) id`,
      [ids],
    );
    return ids;
  };
  const empty = (limitMs: number) =>
    until(
      'the queue to be empty',
      async () => (await sql.query('select 1 from send_job')).length === 0,
      limitMs,
    );
  const ended = async () =>
    new Map(
      (await sql.query<{ id: string; how: string }>('select * from ended')).map(({ id, how }) => [
        id,
        how,
      ]),
    );

  it('fails a row after three deaths, and processes the hundred rows claimed together with it', async () => {
    const [poison = ''] = await put(1);
    const others = await put(100);
    for (const slot of [0, 1]) keep(slot, { POISON: poison });
    await empty(120_000);
    const all = await ended();
    expect(all.get(poison)).toBe('set aside');
    expect(new Set(others.map((id) => all.get(id)))).toEqual(new Set(['done']));
    expect(deaths).toBe(3);
  });

  it('fails no row when workers die at random', async () => {
    for (const slot of [0, 1, 2]) keep(slot);
    const ids: string[] = [];
    await until(
      'a first worker',
      async () => (await sql.query('select 1 from worker')).length > 0,
      30_000,
    );
    for (let round = 0; round < ROUNDS; round += 1) {
      ids.push(...(await put(40)));
      await delay(300 + Math.random() * 500);
      workers[Math.floor(Math.random() * 3)]?.kill('SIGKILL');
    }
    await empty(120_000);
    const all = await ended();
    expect(new Set(ids.map((id) => all.get(id)))).toEqual(new Set(['done']));
    expect(deaths).toBeGreaterThan(ROUNDS / 2.5);
  }, 200_000);
});
