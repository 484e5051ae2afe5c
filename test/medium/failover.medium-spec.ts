import { jest } from '@jest/globals';
import net from 'node:net';
import pg from 'pg';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { connectionTo } from '../../src/platform/database/database-hosts.ts';
import { databaseTrouble } from '../../src/platform/database/health/database-trouble.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import {
  OldTimelineError,
  Timelines,
  timelines,
} from '../../src/platform/database/health/timelines.ts';
import type {
  AnyDispatcher,
  ClaimedRow,
  QueueTable,
} from '../../src/platform/work/queue/dispatcher.ts';
import {
  currentTimeline,
  describeFailover,
  type Failover,
  followTimeline,
  lostSeconds,
  markStragglers,
} from '../../src/platform/work/workers/failover.ts';
import {
  queueStatements,
  rescueStatement,
  sweepStatement,
} from '../../src/platform/work/queue/queue-statements.ts';
import { type Ending, Settler } from '../../src/platform/work/queue/settler.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const SEND: QueueTable = {
  queue: 'send',
  table: 'send_job',
  gateColumn: 'account_id',
  columns: {},
  noEffectBeforeHandOff: true,
};
/** Rows of the table by name: whether they are marked, and whether they wait for their look-up. */
const ROWS = `
  select id, ambiguous, state = 0 and run_at > now() + interval '10 s' as waits from send_job`;

describe('a database server that was promoted', () => {
  let database: TestDatabase;
  let sql: SqlPool;
  let timeline: number;

  beforeAll(async () => {
    database = await createTestDatabase();
    sql = new SqlPool({
      url: database.url,
      max: 2,
      statementTimeoutMs: 5_000,
      applicationName: 'test',
    });
    timeline = (await currentTimeline(sql)) ?? 0;
    await sql.query(
      `insert into instance (id, place, confirmed_at) values (1, '{"name": "carillon"}', now())`,
    );
  });
  beforeEach(async () => {
    await sql.query('truncate send_job');
    await sql.query(
      `update instance set timeline = $1, synchronous = false, failover = null, stragglers_marked_at = null`,
      [timeline - 1],
    );
  });
  afterAll(async () => {
    await sql.close();
    await database.drop();
  });

  /** Stores a row. @returns its id */
  const row = async (dueInSeconds: number, state = 0) => {
    const id = newId();
    await sql.query(
      `insert into send_job (id, account_id, run_at, due_at, retry_limit_at, state, worker_id)
       values ($1, $1, now() + $2 * interval '1 s', now(), now() + interval '1 day', $3::int, case when $3::int = 1 then 7 end)`,
      [id, dueInSeconds, state],
    );
    return id;
  };
  const follow = (complete = false) => followTimeline(sql, [SEND], timeline, complete);
  /** Whether rows are still marked for workers that are absent. */
  const goesOn = async () => {
    const [instance] = await sql.query(
      'select from instance where stragglers_marked_at is not null',
    );
    return instance !== undefined;
  };

  it('gets its due and its claimed rows marked, and no others', async () => {
    const due = await row(-5);
    const soon = await row(5);
    const claimed = await row(-5, 1);
    const later = await row(3_600);
    expect(await follow()).toMatchObject({ from: timeline - 1, to: timeline, rows: 3 });
    const rows = await sql.query<{ id: string; ambiguous: boolean; waits: boolean }>(ROWS);
    expect(new Map(rows.map(({ id, ...rest }) => [id, rest]))).toEqual(
      new Map([
        [due, { ambiguous: true, waits: true }],
        [soon, { ambiguous: true, waits: true }],
        [claimed, { ambiguous: true, waits: false }],
        [later, { ambiguous: false, waits: true }],
      ]),
    );
    const [entry] = await sql.query(
      `select action, details from audit_entry order by id desc limit 1`,
    );
    expect(entry).toMatchObject({ action: 'instance.failed_over', details: { rows: 3 } });
  });

  it('gets rows marked that become due while a worker of the old server is absent', async () => {
    await sql.query(
      `insert into worker (host, pid, seen_at) values ('absent', 1, now() - interval '2 s')`,
    );
    expect(await follow()).toMatchObject({ synchronous: false });
    const soon = await row(5);
    const later = await row(3_600);
    const goOn = async (seconds: number) => {
      await sql.query(`update instance set stragglers_marked_at = now() - $1 * interval '1 s'`, [
        seconds,
      ]);
      // Of two workers, one does it.
      await Promise.all([markStragglers(sql, [SEND]), markStragglers(sql, [SEND])]);
      return sql.query('select id, ambiguous, run_at from send_job order by id');
    };
    const marked = [
      { id: soon, ambiguous: true },
      { id: later, ambiguous: false },
    ];
    expect(await goOn(2)).toMatchObject(marked.map(({ id }) => ({ id, ambiguous: false })));
    const rows = await goOn(4);
    expect(rows).toMatchObject(marked);
    expect(await goOn(4)).toEqual(rows);
    expect(await goesOn()).toBe(true);
    await sql.query('update worker set moved_at = now()');
    await goOn(4);
    expect(await goesOn()).toBe(false);
    await sql.query('update worker set moved_at = null');
  });

  it('gets no more rows marked a minute later, although a worker is absent', async () => {
    await follow();
    expect(await goesOn()).toBe(true);
    await sql.query(`
      update instance set stragglers_marked_at = now() - interval '4 s',
        failover = jsonb_set(failover, '{at}', to_jsonb(now() - interval '61 s'))`);
    const soon = await row(5);
    await markStragglers(sql, [SEND]);
    expect(await sql.query('select id, ambiguous from send_job')).toEqual([
      { id: soon, ambiguous: false },
    ]);
    expect(await goesOn()).toBe(false);
    await sql.query('delete from worker');
  });

  it('is followed by one of several workers', async () => {
    await row(-5);
    const followed = await Promise.all([follow(), follow()]);
    expect(followed.filter((failover) => failover !== null)).toHaveLength(1);
  });

  it('gets no row marked if commits waited for it, and a worker that moved there misses none', async () => {
    await sql.query('update instance set synchronous = true');
    await row(-5);
    expect(await follow(true)).toMatchObject({ synchronous: true, rows: 0 });
    expect(await goesOn()).toBe(false);
    await sql.query('update instance set timeline = timeline - 1');
    expect(await follow()).toMatchObject({ synchronous: false, rows: 1 });
  });

  it('lets claimed rows wait for their look-up, although it lacks their hand-off markers', async () => {
    const claimed = await row(-5, 1);
    const lookedUp = await row(-5, 1);
    const waiting = await row(-5);
    await sql.query('update send_job set ambiguous = true where id = any($1)', [
      [lookedUp, waiting],
    ]);
    await follow();
    expect(await sql.query(rescueStatement([SEND]) ?? '', [0])).toEqual([
      { queue: 'send', rows: 0 },
    ]);
    await sql.query(sweepStatement([SEND]), [true]);
    expect(new Set(await sql.query(ROWS))).toEqual(
      new Set([claimed, lookedUp, waiting].map((id) => ({ id, ambiguous: true, waits: true }))),
    );
  });

  it('counts no crash of a row whose worker has moved there, although a transaction held the row during a sweep', async () => {
    const id = await row(-5, 1);
    await sql.query(
      `insert into worker (id, host, pid, seen_at, moved_at) values (7, 'moved', 1, now() - interval '9 s', now())`,
    );
    const sweep = () => sql.query(sweepStatement([SEND]), [true]);
    await sql.transaction(async (holding) => {
      await holding.query('select from send_job where id = $1 for update', [id]);
      await sweep();
    });
    await sweep();
    expect(await sql.query('select state, crashes from send_job')).toEqual([
      { state: 0, crashes: 0 },
    ]);
    await sweep();
    expect(await sql.query('select from worker')).toEqual([]);
    expect(await sql.query('select from lost_worker')).toEqual([]);
  });

  it('shows by its heartbeats what it lacks if it was restarted after its promotion', async () => {
    const seen = Date.now() / 1000;
    expect(await lostSeconds(sql, null)).toBeNull();
    expect(await lostSeconds(sql, seen)).toBeNull();
    await sql.query(
      `insert into worker (host, pid, release, seen_at)
       values ('one', 1, '1', to_timestamp($1) - interval '90 s'), ('two', 2, '1', to_timestamp($1) + interval '5 s')`,
      [seen],
    );
    expect(await lostSeconds(sql, seen)).toBeCloseTo(90, 2);
    await sql.query('delete from worker');
  });

  it('is said to lack what followed its last heartbeat if it was restarted after its promotion', async () => {
    expect(await follow()).toMatchObject({ since: null });
    const [started] = await sql.query<{ at: Date }>(
      `insert into worker (host, pid, release, seen_at)
       values ('one', 1, '1', pg_postmaster_start_time() - interval '5 s'), ('two', 2, '1', now())
       returning seen_at as at`,
    );
    await sql.query('update instance set timeline = timeline - 1');
    expect(await follow()).toMatchObject({ since: started?.at.toISOString() });
    await sql.query('delete from worker');
  });

  it('gets no result of a run whose claim it lacks, if another worker holds the row under the same fence', async () => {
    const id = await row(-5, 1);
    const dispatcher = { table: SEND, recordFenced: jest.fn(), record: jest.fn() };
    const settler = new Settler(sql, queueStatements(SEND), dispatcher as unknown as AnyDispatcher);
    const [claimed] = await sql.query<ClaimedRow>('select id, fence from send_job where id = $1', [
      id,
    ]);
    const next = { kind: 'again', at: new Date(), ambiguous: false };
    const ending = {
      row: claimed,
      worker: 6,
      outcome: { next, result: {} },
      waitMs: 0,
      gateMarked: false,
    };
    for (const outcome of [ending.outcome, null])
      await settler.settle([{ ...ending, outcome } as Ending]);
    expect(await sql.query('select state, worker_id from send_job')).toEqual([
      { state: 1, worker_id: 7 },
    ]);
    expect(dispatcher.record).not.toHaveBeenCalled();
    expect(dispatcher.recordFenced).toHaveBeenCalledTimes(1);
  });

  it('is waited for by a process that begins, although an older host answers first', async () => {
    const late = await relay(database.url, 600);
    const early = await relay(database.url, 0);
    const { username, password, pathname } = new URL(database.url);
    const hosts = `127.0.0.1:${late.port},127.0.0.1:${early.port}`;
    // Of equal timelines the first in the list wins, so it is used if it was waited for.
    const target = connectionTo(`postgresql://${username}:${password}@${hosts}${pathname}`);
    const client = new target.Client({ connectionString: target.connectionString });
    client.on('error', () => undefined);
    await client.connect();
    expect(client.port).toBe(late.port);
    await client.end();
    for (const { server } of [late, early]) server.close();
  });

  it('is no failover if no worker had read a timeline before', async () => {
    await sql.query('update instance set timeline = null');
    expect(await follow()).toBeNull();
    expect(await sql.query('select timeline, failover from instance')).toEqual([
      { timeline, failover: null },
    ]);
  });

  it('is described with the seconds that may be missing', () => {
    const failover: Failover = {
      from: 1,
      to: 2,
      at: '2026-11-27T10:00:05.200Z',
      since: '2026-11-27T10:00:00.000Z',
      synchronous: false,
      rows: 3,
    };
    expect(describeFailover(failover)).toContain('up to 6 s may be missing');
    expect(describeFailover({ ...failover, since: null })).toContain('wrote last may be missing');
    expect(describeFailover({ ...failover, synchronous: true })).toContain('nothing is missing');
  });

  it('closes the connections to the older one, which is refused from then on', async () => {
    const seen = new Timelines();
    const changes: unknown[] = [];
    seen.listen((change) => changes.push(change));
    const client = await connection(database.url);
    let ended = false;
    client.once('end', () => (ended = true));
    const server = { server: '7', replicated: true };
    seen.admit(client, { ...server, segment: '000000010000000000000001' });
    seen.note({ ...server, server: '8', segment: '000000090000000000000001' });
    expect(seen.note({ ...server, segment: '0000000A0000000000000001' })).toBe(10);
    expect(changes).toEqual([{ from: 1, to: 10 }]);
    await until('the connection to be closed', async () => ended);
    let refusal: unknown;
    try {
      seen.note({ ...server, segment: '000000090000000000000001' });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(OldTimelineError);
    expect(databaseTrouble(refusal)).toBe('away');
  });

  it('that hides its timeline is used as before', async () => {
    // The process would compare nothing from here on, also in the tests of other files.
    const seen = new Timelines();
    jest.spyOn(timelines, 'readable', 'get').mockImplementation(() => seen.readable);
    jest.spyOn(timelines, 'noteUnreadable').mockImplementation((error) => {
      seen.noteUnreadable(error);
    });
    const role = `plain_${process.pid}`;
    await sql.query(`create role ${role} login`);
    await sql.query('revoke execute on function pg_control_system() from public');
    const url = new URL(database.url);
    url.username = role;
    const plain = new SqlPool({
      url: url.href,
      max: 1,
      statementTimeoutMs: 4_321,
      applicationName: 'plain',
    });
    expect(timelines.readable).toBe(true);
    expect(await plain.query('show statement_timeout')).toEqual([{ statement_timeout: '4321ms' }]);
    expect(timelines.readable).toBe(false);
    expect(await currentTimeline(plain)).toBeNull();
    await plain.close();
    await sql.query(`drop role ${role}`);
    jest.restoreAllMocks();
  });
});

async function connection(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Listens on a port that leads to the server of `url`, whose answers come later. */
async function relay(url: string, delayMs: number): Promise<{ server: net.Server; port: number }> {
  const { host, port } = new pg.Client({ connectionString: url });
  const server = net.createServer((socket) => {
    const path = `${host}/.s.PGSQL.${port}`;
    const onward = host.startsWith('/') ? net.connect({ path }) : net.connect({ host, port });
    for (const end of [socket, onward]) end.on('error', () => undefined);
    setTimeout(() => socket.pipe(onward).pipe(socket), delayMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as net.AddressInfo).port };
}
