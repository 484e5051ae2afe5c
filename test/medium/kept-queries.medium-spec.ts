import { jest } from '@jest/globals';
import pg from 'pg';
import { types } from '../../src/platform/database/connections.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

/** A row with values of every kind, one column of each. */
const KINDS = `
  select $1::text as text, 7::int as int, 9007199254740991::bigint as bigint, 1.50::numeric as numeric, 0.1::float8 as float,
    true as yes, null::jsonb as nothing, '{"a": [1, null]}'::jsonb as json, '\\x00ff'::bytea as bytes,
    timestamptz '2026-11-28 08:26:00.123456+01' as at, date '2026-11-28' as day, interval '1 day 2 s' as span,
    array['a', null, 'b"c']::text[] as texts, array[1, 2] as ints, '00000000-0000-7000-8000-000000000000'::uuid as id,
    1 as twice, 2 as twice, 3 as "odd ""name\\ '\`\${x}", 4 as "constructor"
  from generate_series(1, 3)`;

describe('prepared statements', () => {
  const databases: TestDatabase[] = [];
  const pools: SqlPool[] = [];
  beforeAll(async () => {
    databases.push(await createTestDatabase(), await createTestDatabase());
  });
  afterEach(async () => {
    for (const pool of pools.splice(0)) await pool.close();
  });
  afterAll(async () => {
    for (const database of databases) await database.drop();
  });

  const urlOf = (at: number): string => databases[at]?.url ?? '';
  /** A pool of one connection. */
  const pool = (at = 0): SqlPool => {
    const made = new SqlPool({
      url: urlOf(at),
      max: 1,
      statementTimeoutMs: 2_000,
      applicationName: 'test',
    });
    pools.push(made);
    return made;
  };

  it('return the rows that the driver alone returns, each time', async () => {
    const client = new pg.Client({ connectionString: urlOf(0), types });
    await client.connect();
    const { rows } = await client.query(KINDS, ['x']).finally(() => client.end());
    const sql = pool();
    for (let time = 0; time < 3; time += 1) {
      const read = await sql.query<object>(KINDS, ['x']);
      expect(read).toEqual(rows);
      expect(read.map(Object.keys)).toEqual(rows.map(Object.keys));
    }
  });

  it('ask for their columns once on each connection', async () => {
    const connection = pg.Connection.prototype as unknown as { describe(): void };
    const describes = jest.spyOn(connection, 'describe');
    const sql = pool();
    for (let time = 0; time < 3; time += 1) {
      await sql.query('select $1::int as one', [1]);
      await sql.query('set constraints all immediate');
    }
    expect(describes).toHaveBeenCalledTimes(2);
    await sql.query('select $1::int as one', [1], { prepared: false });
    expect(describes).toHaveBeenCalledTimes(3);
    describes.mockRestore();
  });

  it('fail once, and then have their new columns, when a migration has changed a type', async () => {
    const [sql, migration] = [pool(), pool()];
    await migration.query('create table changing (value) as select 7');
    const read = () => sql.query('select * from changing');
    const readInside = () => sql.transaction((open) => open.query('select * from changing'));
    expect([await read(), await read()]).toEqual([[{ value: 7 }], [{ value: 7 }]]);
    await migration.query(`alter table changing alter value type timestamptz using '2026-11-28Z'`);
    await expect(read()).rejects.toThrow('cached plan must not change result type');
    expect(await read()).toEqual([{ value: new Date('2026-11-28Z') }]);
    await migration.query(`alter table changing add more text default 'x', alter value type text`);
    await expect(readInside()).rejects.toThrow('cached plan must not change result type');
    expect(await readInside()).toEqual([{ value: expect.any(String), more: 'x' }]);
    await migration.query('drop table changing');
  });

  it('have columns of their own in each database, and on each new connection', async () => {
    const [first, second] = [pool(0), pool(1)];
    await first.query('create table differing (value) as select 7');
    await second.query(`create table differing (value) as select '7'::jsonb || '8'`);
    for (let time = 0; time < 2; time += 1) {
      expect(await first.query('select value from differing')).toEqual([{ value: 7 }]);
      expect(await second.query('select value from differing')).toEqual([{ value: [7, 8] }]);
    }
    await first.query(`drop table differing`);
    await first.query(`create table differing (value) as select true`);
    await expect(first.query('select pg_terminate_backend(pg_backend_pid())')).rejects.toThrow(
      /terminat/,
    );
    expect(await first.query('select value from differing')).toEqual([{ value: true }]);
  });

  it('refuse a value that cannot be sent, and go on with the connection of their transaction', async () => {
    const sql = pool();
    const [, ring] = [await sql.query('select $1::jsonb as json', ['{}']), {} as { self?: object }];
    ring.self = ring;
    const refused = sql.transaction(async (open) => {
      await expect(open.query('select $1::jsonb as json', [ring])).rejects.toThrow('circular');
      return open.query('select $1::jsonb as json', ['[]']);
    });
    expect(await refused).toEqual([{ json: [] }]);
  });
});
