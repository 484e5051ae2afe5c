import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Logger } from '@nestjs/common';
import { OperatorInstance } from '../../src/operator/instance/operator-instance.ts';
import { SYSTEM } from '../../src/platform/audit/actor.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import {
  confirmIdentity,
  databaseAddress,
  currentIdentity,
  recordedIdentity,
} from '../../src/platform/work/workers/database-identity.ts';
import { type SqlConnection, SqlPool } from '../../src/platform/database/sql.ts';
import {
  InstanceCheck,
  type HeartbeatResult,
} from '../../src/platform/work/workers/instance-check.ts';
import { TestClock } from '../support/test-clock.ts';
import {
  createTestDatabase,
  copyTestDatabase,
  type TestDatabase,
} from '../support/test-database.ts';

const KEYS = `k:${Buffer.alloc(32).toString('base64')}`;

describe('InstanceCheck', () => {
  const databases: TestDatabase[] = [];
  const pools: SqlPool[] = [];
  let database: TestDatabase;
  let sql: SqlPool;

  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(async () => {
    database = await createTestDatabase();
    databases.push(database);
    sql = connect(database.url);
  });
  afterEach(async () => {
    await disconnect();
    await Promise.all(databases.splice(0).map((each) => each.drop()));
  });

  function connect(url: string): SqlPool {
    const pool = new SqlPool({ url, max: 2, statementTimeoutMs: 5000, applicationName: 'test' });
    pools.push(pool);
    return pool;
  }
  const disconnect = () => Promise.all(pools.splice(0).map((pool) => pool.close()));
  const config = (url: string, name = 'carillon') =>
    loadConfig({ DATABASE_URL: url, ENCRYPTION_KEYS: KEYS, INSTANCE_NAME: name });
  const guard = (url = database.url, name?: string) => new InstanceCheck(config(url, name), []);
  /** Later than any confirmation in these tests. */
  const START = Date.now() / 1000 + 3600;
  const pulse = (seen: number, before = seen - 1, backend = 1): HeartbeatResult => ({
    backend,
    before: START + before,
    seen: START + seen,
    doubt: null,
    synchronous: false,
    wasSynchronous: false,
    standbyRecorded: false,
  });

  /** The database as a server with another timeline shows it. */
  const onTimeline = (timeline: number): SqlConnection => {
    const server = { server: database.url, segment: `0000000${timeline}`, replicated: false };
    return {
      query: async <R extends object>(text: string, values?: readonly unknown[]) =>
        text.includes('pg_walfile_name') ? [server as R] : sql.query<R>(text, values),
      transaction: (work) => sql.transaction(work),
    };
  };

  it('adopts a database that no installation has used, and recognises it later', async () => {
    expect(await recordedIdentity(sql)).toBeUndefined();
    expect(await guard().admits(sql)).toBe(true);
    expect((await recordedIdentity(sql))?.place).toEqual(
      await currentIdentity(sql, config(database.url)),
    );
    expect(await guard().admits(sql)).toBe(true);
  });

  it('lets only one installation adopt the database when several start at once', async () => {
    const admitted = await Promise.all(
      ['one', 'two', 'three'].map((name) =>
        guard(database.url, name).admits(connect(database.url)),
      ),
    );
    expect(admitted.filter(Boolean)).toHaveLength(1);
  });

  it('does not admit an installation with another name to a copy until the operator confirms', async () => {
    await guard().admits(sql);
    await disconnect();
    const copy = await copyTestDatabase(database);
    databases.push(copy);
    const there = connect(copy.url);
    const stranger = guard(copy.url);
    expect(await stranger.admits(there)).toBe(false);
    expect(stranger.problem).toContain('restored or moved (database, address)');
    expect(stranger.problem).toContain('carillon instance confirm');
    await confirmIdentity(there, await currentIdentity(there, config(copy.url)));
    expect(await stranger.admits(there)).toBe(true);
    expect(stranger.problem).toBeNull();
    expect(await guard().admits(connect(database.url))).toBe(true);
  });

  it('does not admit an installation whose address or name has changed', async () => {
    await guard().admits(sql);
    const byName = new URL(database.url);
    byName.hostname = 'localhost';
    expect(await guard(byName.href).admits(sql)).toBe(false);
    expect(await guard(database.url, 'staging').admits(sql)).toBe(false);
    expect(await guard().admits(sql)).toBe(true);
  });

  it('recognises a server by more than its address', async () => {
    await guard().admits(sql);
    await sql.query(`update instance set place = place || '{"server": "1"}'`);
    const other = guard();
    expect(await other.admits(sql)).toBe(false);
    expect(other.problem).toContain('(server)');
  });

  it('works for a role that only has rights on its own tables', async () => {
    await sql.query(`create role plain_${process.pid}`);
    try {
      const here = await currentIdentity(sql, config(database.url));
      await sql.transaction(async (inside) => {
        await inside.query(`set local role plain_${process.pid}`);
        expect(await currentIdentity(inside, config(database.url))).toEqual(here);
        expect(here.server).toMatch(/^\d+$/);
      });
      const deaf = {
        query: async <R extends object>(text: string) => {
          if (text.includes('pg_control_system'))
            throw Object.assign(new Error('permission denied'), { code: '42501' });
          return sql.query<R>(text);
        },
      };
      expect(await currentIdentity(deaf, config(database.url))).toEqual({
        ...here,
        server: undefined,
      });
    } finally {
      await sql.query(`drop role plain_${process.pid}`);
    }
  });

  it('never shows a user or a password', async () => {
    const url = 'postgresql://somebody:hunter2@db.example:6432/mail?application_name=x';
    expect(databaseAddress(config(url))).toBe('db.example:6432/mail');
  });

  it('tells the folder of the embedded database from a copy, even one at the same path', async () => {
    const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-instance-'));
    const folder = path.join(dataDir, 'postgres');
    const address = () =>
      databaseAddress(
        loadConfig(
          { DATA_DIR: dataDir },
          { databaseUrl: 'postgresql://127.0.0.1/carillon', encryptionKeys: KEYS },
        ),
      );
    try {
      fs.mkdirSync(folder);
      const original = address();
      expect(original).toContain(fs.realpathSync(folder));
      expect(address()).toBe(original);
      fs.cpSync(folder, `${folder}.backup`, { recursive: true });
      fs.renameSync(folder, `${folder}.old`);
      fs.renameSync(`${folder}.backup`, folder);
      expect(address()).not.toBe(original);
    } finally {
      fs.rmSync(dataDir, { recursive: true });
    }
  });

  it('stops all workers when the database lacks data that a live worker has written', async () => {
    const watcher = guard();
    await watcher.admits(sql);
    expect(await watcher.registered(sql, 7)).toBe(true);
    expect(await watcher.accepts(sql, pulse(0))).toBe(true);
    expect(await watcher.accepts(sql, pulse(61, 1))).toBe(true);
    expect(await watcher.accepts(sql, pulse(62, 0.5))).toBe(false);
    expect(watcher.problem).toContain('(doubt)');
    expect(await guard().admits(sql)).toBe(false);
  });

  it('notices a database that assigns worker ids again', async () => {
    const watcher = guard();
    await watcher.admits(sql);
    await watcher.registered(sql, 7);
    await watcher.accepts(sql, pulse(0));
    await watcher.accepts(sql, pulse(100, 0));
    expect(await watcher.registered(sql, 7)).toBe(false);
    expect(await watcher.admits(sql)).toBe(false);
  });

  it('accepts a promoted standby that lacks the last seconds of its primary', async () => {
    const watcher = guard();
    await watcher.admits(sql);
    await watcher.registered(sql, 7);
    await watcher.accepts(sql, pulse(0));
    expect(await watcher.accepts(sql, pulse(10, -20, 2))).toBe(true);
    expect(await watcher.registered(sql, 7)).toBe(true);
  });

  it('admits a worker that comes late from a server that was replaced, but no first one', async () => {
    const [first, late] = [guard(), guard()];
    for (const each of [first, late]) {
      expect(await each.admits(onTimeline(1))).toBe(true);
      expect(await each.accepts(onTimeline(1), pulse(100))).toBe(true);
    }
    await sql.query(`insert into worker (host, pid, seen_at) values ('one', 1, to_timestamp($1))`, [
      START,
    ]);
    await guard().admits(onTimeline(2));
    expect(await late.admits(onTimeline(2))).toBe(true);
    await sql.query('update instance set timeline = 1');
    expect(await first.admits(onTimeline(2))).toBe(false);
  });

  it('forgets earlier observations when the operator confirms', async () => {
    const watcher = guard();
    await watcher.admits(sql);
    await watcher.registered(sql, 7);
    await watcher.accepts(sql, pulse(0));
    await watcher.accepts(sql, pulse(100, 0));
    await confirmIdentity(sql, await currentIdentity(sql, config(database.url)));
    await sql.query(`update instance set confirmed_at = now() + interval '3 hours'`);
    await watcher.admits(sql);
    expect(await watcher.registered(sql, 3)).toBe(true);
  });

  it('is taken over by one command at a time, and never with a single connection', async () => {
    await guard().admits(sql);
    const takeOver = (pool: SqlPool) =>
      new OperatorInstance(pool, new TestClock()).takeOver(
        SYSTEM,
        config(database.url, 'other'),
        {},
      );
    const narrow = new SqlPool({
      url: database.url,
      max: 1,
      statementTimeoutMs: 5000,
      applicationName: 'test',
    });
    pools.push(narrow);
    await expect(takeOver(narrow)).rejects.toMatchObject({ code: 'instance.one-connection' });
    await sql.transaction(async (first) => {
      await first.query('select pg_advisory_xact_lock(727005)');
      await expect(takeOver(connect(database.url))).rejects.toMatchObject({
        code: 'instance.busy',
      });
    });
    expect((await recordedIdentity(sql))?.place.name).toBe('carillon');
    await takeOver(sql);
    expect((await recordedIdentity(sql))?.place.name).toBe('other');
    expect(await sql.query('select action from audit_entry order by id')).toEqual([
      { action: 'instance.confirm' },
      { action: 'instance.confirmed' },
    ]);
  });

  it('stops at once when another worker has refused the database', async () => {
    const watcher = guard();
    await watcher.admits(sql);
    await watcher.registered(sql, 7);
    await watcher.accepts(sql, pulse(0));
    await sql.query(`update instance set place = place || '{"doubt": "somebody saw it"}'`);
    expect(await watcher.accepts(sql, { ...pulse(1), doubt: 'somebody saw it' })).toBe(false);
  });
});
