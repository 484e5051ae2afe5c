import { run } from '../../src/cli/carillon/program.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database, type Sql } from '../../src/platform/database/sql.ts';
import { MoveRunner } from '../../src/platform/moves/move-runner.ts';
import { listMoves, moveHasBegun } from '../../src/platform/moves/table-moves.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const NAME = 'new_rows';
const STEP = `
  with moved as (
    delete from old_row where id in (select id from old_row order by id limit 10 for update skip locked)
    returning id),
  stored as (insert into new_rows select id from moved)
  select count(*)::int as count from moved`;

describe('moves of rows to a new table', () => {
  let test: TestDatabase;
  let database: Database;

  const step = async (sql: Sql): Promise<number> =>
    (await sql.query<{ count: number }>(STEP))[0]?.count ?? 0;
  /** The move of a worker of its own. */
  const worker = (steps: (sql: Sql) => Promise<number> = step): MoveRunner => {
    const runner = new MoveRunner(database);
    runner.add({ name: NAME, step: steps });
    return runner;
  };
  const carillon = async (...args: string[]): Promise<string> => {
    let output = '';
    const environment = {
      NODE_ENV: 'test',
      DATABASE_URL: test.url,
      ENCRYPTION_KEYS: `k:${Buffer.alloc(32, 1).toString('base64')}`,
    };
    const print = (text: string) => (output += text);
    await run(args, { environment, print, write: print });
    return output;
  };
  const ownMove = async () => (await listMoves(database)).find(({ name }) => name === NAME);
  const idsIn = async (table: string): Promise<number[]> =>
    (await database.query<{ id: number }>(`select id from ${table} order by id`)).map(
      ({ id }) => id,
    );
  const all = Array.from({ length: 45 }, (_, index) => index + 1);
  const processStarted = (at: string) =>
    database.query(
      `insert into running_process (id, host, pid, roles, sealing_key, keys, started_at, seen_at)
       values ($1, 'host-1', 7, '{api}', 'k', '{}', ${at}, now())`,
      [newId()],
    );

  beforeEach(async () => {
    test = await createTestDatabase();
    database = new Database({
      url: test.url,
      max: 6,
      statementTimeoutMs: 10_000,
      applicationName: 'test',
    });
    await database.query('create table old_row (id int primary key)');
    await database.query('create table new_rows (id int primary key)');
    await database.query('insert into old_row select generate_series(1, 45)');
    await database.query(`insert into table_move (name, old_table) values ($1, 'old_row')`, [NAME]);
  });
  afterEach(async () => {
    await database.close();
    await test.drop();
  });

  it('wait until an operator starts them', async () => {
    expect(await worker().run()).toBe(0);
    expect(await moveHasBegun(database, NAME)).toBe(false);
    expect(await idsIn('old_row')).toEqual(all);
    await carillon('moves', 'start', '--yes');
    expect(await moveHasBegun(database, NAME)).toBe(true);
    expect(await worker().run()).toBe(45);
    expect(await idsIn('old_row')).toEqual([]);
    expect(await idsIn('new_rows')).toEqual(all);
    expect(await ownMove()).toMatchObject({ moved: 45, rowsLeft: 0, finishedAt: expect.any(Date) });
  });

  it('are shared by workers, each row is moved once', async () => {
    await carillon('moves', 'start', '--yes');
    const moved = await Promise.all([worker().run(), worker().run(), worker().run()]);
    expect(moved[0] + moved[1] + moved[2]).toBe(45);
    expect(await idsIn('new_rows')).toEqual(all);
    expect(await ownMove()).toMatchObject({ moved: 45 });
  });

  it('continue after a step that was cut off', async () => {
    await carillon('moves', 'start', '--yes');
    let steps = 0;
    const dying = worker(async (sql) => {
      const count = await step(sql);
      if (++steps === 3) throw new Error('cut off');
      return count;
    });
    await expect(dying.run()).rejects.toThrow('cut off');
    expect(await idsIn('new_rows')).toEqual(all.slice(0, 20));
    expect(await ownMove()).toMatchObject({ moved: 20, finishedAt: null });
    expect(await worker().run()).toBe(25);
    expect(await idsIn('new_rows')).toEqual(all);
  });

  it('stop after the present step when the process stops', async () => {
    await carillon('moves', 'start', '--yes');
    const stop = new AbortController();
    const stopped = worker((sql) => {
      stop.abort();
      return step(sql);
    });
    expect(await stopped.run(stop.signal)).toBe(10);
    expect(await idsIn('old_row')).toHaveLength(35);
  });

  it('are not finished while a row is locked, and take rows that are written to the old table later', async () => {
    await carillon('moves', 'start', '--yes');
    await database.transaction(async (sql) => {
      await sql.query('select 1 from old_row where id = 45 for update');
      expect(await worker().run()).toBe(44);
      expect(await ownMove()).toMatchObject({ moved: 44, finishedAt: null });
    });
    expect(await worker().run()).toBe(1);
    const finished = (await ownMove())?.finishedAt;
    await database.query('insert into old_row values (46)');
    expect(await worker().run()).toBe(1);
    expect(await ownMove()).toMatchObject({ moved: 46, finishedAt: finished });
  });

  it('are shown with their progress by the command', async () => {
    expect(JSON.parse(await carillon('--json', 'moves'))).toMatchObject({
      moves: expect.arrayContaining([
        expect.objectContaining({ name: NAME, old_table: 'old_row', began_at: null, moved: 0 }),
      ]),
      processes: [],
    });
    expect(await carillon('moves', 'list')).toContain(NAME);
  });

  it('are started only with a confirmation, which the audit log records', async () => {
    await processStarted('now()');
    await expect(carillon('moves', 'start')).rejects.toThrow(
      /Not started: .*new_rows[\s\S]*host-1, process 7 \(api\), started 20[\s\S]*Nothing was changed/,
    );
    expect(await ownMove()).toMatchObject({ beganAt: null });
    expect(await carillon('moves', 'start', '--yes')).toMatch(/^Started: .*new_rows/);
    expect(await carillon('moves', 'start', '--yes')).toMatch(/^Started: none/);
    const entries = await database.query(
      `select action, target_type, target_id from audit_entry where target_id = $1`,
      [NAME],
    );
    expect(entries).toEqual([{ action: 'move.start', target_type: 'table', target_id: NAME }]);
  });

  it('are not started while a process runs that started before the move was added', async () => {
    await processStarted(`now() - interval '1 min'`);
    await expect(carillon('moves', 'start')).rejects.toThrow('of an older release');
    await expect(carillon('moves', 'start', '--yes')).rejects.toThrow(
      'would not see its rows: host-1 (process 7). Replace them, wait 30 seconds',
    );
    expect(await ownMove()).toMatchObject({ beganAt: null });
    await database.query(`update running_process set seen_at = now() - interval '31 s'`);
    expect(await carillon('moves', 'start', '--yes')).toContain(NAME);
  });
});
