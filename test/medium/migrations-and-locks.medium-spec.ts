import { jest } from '@jest/globals';
import { ConsoleLogger, Logger } from '@nestjs/common';
import pg from 'pg';
import { LockedTableError, migrate } from '../../src/app/migrate.ts';
import { ownMigrations } from '../../src/app/pending-migrations.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const ADDED = 'Migration20261128034000_assumed_attempts';
const PATIENCE = { waitMs: 200, pauseMs: 50, tries: 3 };

describe('a migration of a table that is in use', () => {
  let database: TestDatabase;
  let user: pg.Client;

  beforeEach(async () => {
    // A suite before this one may have silenced or redirected it.
    Logger.overrideLogger(new ConsoleLogger());
    database = await createTestDatabase();
    user = await connect('a long report');
    await user.query('alter table send_job drop column attempt_assumed');
    await user.query('delete from mikro_orm_migrations where name = $1', [ADDED]);
    await user.query('begin');
    await user.query('select from send_job');
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await user.end();
    await database.drop();
  });

  const connect = async (application_name: string) => {
    const client = new pg.Client({ connectionString: database.url, application_name });
    await client.connect();
    return client;
  };
  /** What is printed from now on: by the log of Nest if a suite before this one started it. */
  const lines = (): unknown[] => {
    const said: unknown[] = [];
    for (const stream of [process.stdout, process.stderr])
      jest.spyOn(stream, 'write').mockImplementation((text) => said.push(text) > 0);
    return said;
  };

  it('lets others work between its tries, says who is in the way, and runs once the table is free', async () => {
    const said = lines();
    const begun: string[] = [];
    const running = migrate(database.url, (name) => begun.push(name), {
      ...PATIENCE,
      tries: 1_000,
    });
    await until('a try to fail', async () => String(said).includes('is tried again'));
    const other = await connect('a request');
    await other.query(`set lock_timeout = '2 s'`);
    expect((await other.query('select from send_job')).rowCount).toBe(0);
    await other.end();
    await user.query('commit');
    expect(await running).toEqual([ADDED]);
    expect(begun).toEqual([ADDED]);
    expect(String(said)).toMatch(
      /assumed_attempts waited 0.2 s for a table that is in use.* a long report \(process \d+\), open for \d+ s/,
    );
    expect(await migrate(database.url)).toEqual([]);
  });

  it('gives up after its tries, and keeps the migrations before it', async () => {
    lines();
    await user.query('rollback');
    await user.query('alter table worker drop column moved_at');
    const earlier = ownMigrations().find((name) => name.endsWith('moved_workers'));
    await user.query('delete from mikro_orm_migrations where name = $1', [earlier]);
    await user.query('begin');
    await user.query('select from send_job');
    const failure = await migrate(database.url, undefined, PATIENCE).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(LockedTableError);
    expect(String(failure)).toContain(`${ADDED} could not lock a table that it changes`);
    await user.query('rollback');
    expect(await migrate(database.url)).toEqual([ADDED]);
  });
});
