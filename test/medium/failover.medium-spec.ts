import pg from 'pg';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { databaseTrouble } from '../../src/platform/database/database-trouble.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { OldTimelineError, Timelines } from '../../src/platform/database/timelines.ts';
import type { QueueTable } from '../../src/platform/work/dispatcher.ts';
import {
  currentTimeline,
  describeFailover,
  type Failover,
  followTimeline,
} from '../../src/platform/work/failover.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const SEND: QueueTable = {
  queue: 'send',
  table: 'send_job',
  gateColumn: 'account_id',
  columns: {},
  inertUntilHandOff: true,
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
    await sql.query('update instance set timeline = $1, synchronous = false, failover = null', [
      timeline - 1,
    ]);
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
  const follow = (lost = false) => followTimeline(sql, [SEND], timeline, lost);

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

  it('is followed by one of several workers', async () => {
    await row(-5);
    const followed = await Promise.all([follow(), follow()]);
    expect(followed.filter((failover) => failover !== null)).toHaveLength(1);
  });

  it('gets no row marked if commits waited for it, unless a commit is known to be missing', async () => {
    await sql.query('update instance set synchronous = true');
    await row(-5);
    expect(await follow()).toMatchObject({ synchronous: true, rows: 0 });
    await sql.query('update instance set timeline = timeline - 1');
    expect(await follow(true)).toMatchObject({ synchronous: false, rows: 1 });
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

  it('that shows no timeline can be used', () => {
    const seen = new Timelines();
    seen.noteUnreadable(new Error('permission denied'));
    expect(seen.readable).toBe(false);
    expect(seen.note({ server: '7', segment: null, replicated: false })).toBeNull();
  });
});

async function connection(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
