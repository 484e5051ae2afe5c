import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { newId } from '../../src/platform/base/ids/ids.ts';
import type { ClaimedRow } from '../../src/platform/work/queue/dispatcher.ts';
import { rescueStatement, WORKER_LOCKS } from '../../src/platform/work/queue/queue-statements.ts';
import {
  done,
  type EngineFixture,
  ProbeDispatcher,
  startEngineFixture,
} from '../support/engine-fixture.ts';
import { until } from '../support/until.ts';

describe('Engine', () => {
  let fixture: EngineFixture;
  let sql: EngineFixture['sql'];

  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(async () => {
    fixture = await startEngineFixture();
    ({ sql } = fixture);
  });
  afterEach(() => fixture.close());

  it('runs every due row once and removes it', async () => {
    const ids = [...(await fixture.insertRows(30)), ...(await fixture.insertRows(30))];
    const handedOff: string[] = [];
    const dispatcher = new ProbeDispatcher(16, async (job, lease) => {
      // The hand-off is refused if the process has been paused. The row then runs again.
      if (!(await lease.handOff())) return null;
      handedOff.push(job.id);
      return done(job);
    });
    const engine = await fixture.begin(dispatcher);
    engine.wakeQueue('send');
    await fixture.empty();
    expect(handedOff.toSorted()).toEqual(ids.toSorted());
    expect([...dispatcher.recorded].sort()).toEqual([...ids].sort());
  });

  it('shares the rows between two engines without running any twice', async () => {
    const ids = (
      await Promise.all(Array.from({ length: 10 }, () => fixture.insertRows(12)))
    ).flat();
    const one = new ProbeDispatcher(8, async (job) => done(job));
    const two = new ProbeDispatcher(8, async (job) => done(job));
    await Promise.all([fixture.begin(one), fixture.begin(two)]);
    await fixture.empty();
    expect([...one.begun, ...two.begun].sort()).toEqual([...ids].sort());
  });

  it('does not run a row before it is due', async () => {
    const startedAt: number[] = [];
    const dispatcher = new ProbeDispatcher(8, async (job) => {
      startedAt.push(performance.now());
      return done(job);
    });
    await fixture.begin(dispatcher);
    // The row is due 700 ms after the database was asked, no matter when it responds.
    const askedAt = performance.now();
    const [id] = await fixture.insertRows(1, newId(), 700);
    await fixture.empty();
    expect(dispatcher.begun).toEqual([id]);
    expect(startedAt[0]).toBeGreaterThanOrEqual(askedAt + 650);
  });

  it('claims no more rows of one account than its rate gate allows, so that other accounts are served', async () => {
    const crowd = newId();
    await fixture.insertRows(100, crowd);
    const [other] = await fixture.insertRows(1);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const dispatcher = new ProbeDispatcher(50, async (job) => {
      if (job.gateId === crowd) await released;
      return done(job);
    });
    await fixture.begin(dispatcher);
    await until('the other account', async () => dispatcher.recorded.includes(other ?? ''));
    expect(dispatcher.begun.filter((id) => id !== other)).toHaveLength(8);
    release();
  });

  it('claims a row that becomes due behind a crowd of one account before the crowd has been moved', async () => {
    const crowd = newId();
    await fixture.insertRows(20_000, crowd, -1_000);
    const [other] = await fixture.insertRows(1);
    const unmoved = Promise.withResolvers<number>();
    const end = Promise.withResolvers<void>();
    const dispatcher = new ProbeDispatcher(50, async (job) => {
      if (job.id === other) {
        const due = 'select id from send_job where state = 0 and run_at < now()';
        unmoved.resolve((await fixture.sql.query(due)).length);
      } else if (job.gateId === crowd) await end.promise;
      return done(job);
    });
    await fixture.begin(dispatcher);
    expect(await unmoved.promise).toBeGreaterThan(0);
    end.resolve();
    await fixture.sql.query('delete from send_job where state = 0');
  });

  it('claims few rows ahead of their hand-off if the queue asks for that', async () => {
    for (let n = 0; n < 4; n += 1) await fixture.insertRows(3);
    const [begin, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const dispatcher = new ProbeDispatcher(
      50,
      async (job, lease) => {
        await begin.promise;
        await lease.handOff();
        await end.promise;
        return done(job);
      },
      { mostUnbegun: 5 },
    );
    const engine = await fixture.begin(dispatcher);
    await until('five rows to be claimed', async () => dispatcher.begun.length >= 5);
    for (let n = 0; n < 3; n += 1) {
      engine.wakeQueue('send');
      await engine.tick();
    }
    expect((await fixture.rows()).filter(({ state }) => state === 1)).toHaveLength(5);
    begin.resolve();
    await until('all rows to be claimed', async () => new Set(dispatcher.begun).size === 12);
    end.resolve();
    await fixture.empty();
  });

  it("spreads surplus rows of an account as its queue asks, without changing the account's rate limit", async () => {
    const account = newId();
    await fixture.insertRows(40, account);
    const end = Promise.withResolvers<void>();
    const dispatcher = new ProbeDispatcher(
      50,
      async (job) => {
        await end.promise;
        return done(job);
      },
      { paceMs: 2 },
    );
    await fixture.begin(dispatcher);
    await until('eight rows to be claimed', async () => dispatcher.begun.length === 8);
    const waiting = (await fixture.rows()).filter(({ state }) => state === 0);
    expect(waiting).toHaveLength(32);
    expect(await fixture.gate(account)).toBeUndefined();
    end.resolve();
    await fixture.empty();
    expect(new Set(dispatcher.recorded).size).toBe(40);
  });

  it('releases the rows of a dead worker, names its process in the log, and marks handed-off rows as ambiguous', async () => {
    const warned = jest.spyOn(Logger.prototype, 'warn');
    const [plain, marked] = await fixture.insertRows(2, newId(), 3_600_000);
    await sql.query(
      `insert into worker (id, host, pid, seen_at) values (77, 'gone', 1, now() - interval '9 s')`,
    );
    await sql.query(
      `update send_job set state = 1, worker_id = 77, fence = 3, attempt = 1,
       handoff_at = case when id = $1 then now() end`,
      [marked],
    );
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    await fixture.begin(dispatcher);
    // A recorded result is committed shortly afterwards.
    await until(
      'the row without an unknown outcome to end',
      async () => (await fixture.rows()).length < 2,
    );
    expect(dispatcher.recorded).toEqual([plain]);
    expect(warned).toHaveBeenCalledWith(
      'no heartbeat for 8 seconds, so frozen or gone: process 1 on gone; 2 claimed rows go back to the queues',
    );
    warned.mockRestore();
    const left = await fixture.rows();
    expect(left).toMatchObject([{ id: marked, state: 0, ambiguous: true, crashes: 1 }]);
  });

  it('gives back the rows of a worker that has moved after a failover, and counts no death', async () => {
    const [id] = await fixture.insertRows(1, newId(), 3_600_000);
    await sql.query(
      `insert into worker (id, host, pid, seen_at, moved_at) values (78, 'moved', 1, now() - interval '9 s', now())`,
    );
    await sql.query(
      'update send_job set state = 1, worker_id = 78, fence = 3, attempt = 1, handoff_at = now()',
    );
    await fixture.begin(new ProbeDispatcher(8, async (job) => done(job)));
    await until('the row to be given back', async () => (await fixture.rows())[0]?.state === 0);
    expect(await fixture.rows()).toMatchObject([{ id, ambiguous: true, crashes: 0 }]);
    expect(await sql.query('select from lost_worker where id = 78')).toEqual([]);
  });

  it('keeps a row ambiguous whose second worker dies before its hand-off', async () => {
    const [id] = await fixture.insertRows(1, newId(), 3_600_000);
    await sql.query(
      `insert into worker (id, host, pid, seen_at) values (77, 'gone', 1, now() - interval '9 s')`,
    );
    await sql.query(
      `update send_job set state = 1, worker_id = 77, fence = 4, attempt = 2, ambiguous = true`,
    );
    const claimed: ClaimedRow[] = [];
    const dispatcher = new ProbeDispatcher(8, async (job) => {
      claimed.push(job);
      return done(job);
    });
    await fixture.begin(dispatcher);
    await fixture.empty();
    expect(claimed).toMatchObject([{ id, ambiguous: true, attempt: 2 }]);
  });

  it('forgets deaths of workers once an attempt has a result', async () => {
    const [id] = await fixture.insertRows(1);
    await sql.query('update send_job set crashes = 1');
    const later = new Date(Date.now() + 3_600_000);
    const dispatcher = new ProbeDispatcher(8, async (job) => ({
      ...done(job),
      next: { kind: 'again', at: later, ambiguous: false },
    }));
    await fixture.begin(dispatcher);
    await until('the attempt to be stored', async () => dispatcher.recorded.length === 1);
    await until('the row to wait', async () => (await fixture.rows())[0]?.state === 0);
    expect(await fixture.rows()).toMatchObject([{ id, crashes: 0 }]);
  });

  it('releases at once the rows that a disconnected worker had not begun, and no others', async () => {
    const [plain, marked, suspect, elsewhere] = await fixture.insertRows(4, newId(), 3_600_000);
    const living = new pg.Client(fixture.url);
    await living.connect();
    // No worker counts as dead by its heartbeat, no matter how long this test takes.
    await sql.query(
      `insert into worker (id, host, pid, seen_at)
       values (77, 'gone', 1, now() + interval '1 h'), (78, 'living', 1, now() + interval '1 h')`,
    );
    await living.query('select pg_advisory_lock($1, 78)', [WORKER_LOCKS]);
    await sql.query(
      `update send_job set state = 1, fence = 3, attempt = 1, worker_id = case when id = $3 then 78 else 77 end,
         handoff_at = case when id = $1 then now() end, crashes = case when id = $2 then 1 else 0 end`,
      [marked, suspect, elsewhere],
    );
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job), {
      noEffectBeforeHandOff: true,
    });
    await fixture.begin(dispatcher);
    await until('the row that had not begun to end', async () => (await fixture.rows()).length < 4);
    expect(dispatcher.recorded).toEqual([plain]);
    const claimedIds = async () =>
      new Set((await fixture.rows()).flatMap(({ id, state }) => (state === 1 ? [id] : [])));
    expect(await claimedIds()).toEqual(new Set([marked, suspect, elsewhere]));
    await living.end();
    await until(
      'the row of the other worker to end',
      async () => (await fixture.rows()).length < 3,
    );
    expect(dispatcher.recorded).toEqual([plain, elsewhere]);
    expect(await claimedIds()).toEqual(new Set([marked, suspect]));
  });

  it('takes over rows of a disconnected worker if they may be repeated and PostgreSQL was not restarted', async () => {
    const [repeated, restarted, suspect] = await fixture.insertRows(3, newId(), 3_600_000);
    // No worker counts as dead by its heartbeat, no matter how long this test takes.
    await sql.query(
      `insert into worker (id, host, pid, seen_at)
       values (77, 'gone', 1, now() + interval '1 h'), (78, 'before', 1, pg_postmaster_start_time() - interval '1 s')`,
    );
    await sql.query(
      `update send_job set state = 1, fence = 3, attempt = 1, worker_id = case when id = $1 then 78 else 77 end,
         crashes = case when id = $2 then 1 else 0 end`,
      [restarted, suspect],
    );
    const { table } = new ProbeDispatcher(1, async (job) => done(job), { repeatable: true });
    const rescue = rescueStatement([table]) ?? '';
    const found = await sql.query<{ rows: number }>(rescue, [1]);
    expect(found).toMatchObject([{ rows: 1 }]);
    expect(await fixture.rows()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: repeated, state: 0 }),
        expect.objectContaining({ id: restarted, state: 1 }),
        expect.objectContaining({ id: suspect, state: 1 }),
      ]),
    );
  });

  it('keeps its lock when its heartbeat gets a new connection', async () => {
    const [id] = await fixture.insertRows(1);
    const end = Promise.withResolvers<void>();
    const working = new ProbeDispatcher(
      8,
      async (job) => {
        await end.promise;
        return done(job);
      },
      { noEffectBeforeHandOff: true },
    );
    await fixture.begin(working);
    await until('the run to begin', async () => working.begun.length === 1);
    const holders = () =>
      sql.query<{ pid: number }>(
        `select pid from pg_locks l where l.locktype = 'advisory' and l.objsubid = 2 and l.classid = $1
           and l.mode = 'ExclusiveLock' and l.database = (select oid from pg_database where datname = current_database())`,
        [WORKER_LOCKS],
      );
    const [before] = await holders();
    await sql.query('select pg_terminate_backend($1)', [before?.pid]);
    await until('another connection to have the lock', async () => {
      const [now] = await holders();
      return now !== undefined && now.pid !== before?.pid;
    });
    expect(await fixture.rows()).toMatchObject([{ id, state: 1 }]);
    end.resolve();
    await fixture.empty();
    expect(working.recorded).toEqual([id]);
  });

  it('releases rows of an unknown worker', async () => {
    const [id] = await fixture.insertRows(1);
    await sql.query('update send_job set state = 1, worker_id = 4711');
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    await fixture.begin(dispatcher);
    await until('the row to run', async () => dispatcher.recorded.includes(id ?? ''));
  });

  it('ignores the result of a row that another worker owns', async () => {
    const [id] = await fixture.insertRows(1);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const dispatcher = new ProbeDispatcher(8, async (job) => {
      await released;
      return done(job);
    });
    await fixture.begin(dispatcher);
    await until('the run to begin', async () => dispatcher.begun.length === 1);
    await sql.query(`insert into worker (id, host, pid) values (4711, 'another', 1)`);
    await sql.query('update send_job set fence = fence + 1, worker_id = 4711');
    release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await fixture.rows()).toMatchObject([{ id, state: 1 }]);
    await sql.query(`update worker set seen_at = now() - interval '9 s' where id = 4711`);
    await fixture.empty();
    expect(dispatcher.begun).toEqual([id, id]);
    expect(dispatcher.recorded).toEqual([id]);
  });

  it('refuses the hand-off of a row that another worker owns', async () => {
    await fixture.insertRows(1);
    const answers: boolean[] = [];
    const dispatcher = new ProbeDispatcher(8, async (job, lease) => {
      if (answers.length === 0) await sql.query('delete from send_job where id = $1', [job.id]);
      answers.push(await lease.handOff());
      return done(job);
    });
    await fixture.begin(dispatcher);
    await until('the answer', async () => answers.length > 0);
    expect(answers).toEqual([false]);
    expect(dispatcher.recorded).toEqual([]);
  });

  it('records other results when one cannot be stored, and keeps that row', async () => {
    const ids = await fixture.insertRows(5);
    const bad = ids[2] ?? '';
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    dispatcher.failRecord = (batch) => batch.includes(bad);
    await fixture.begin(dispatcher);
    await until('the other rows to end', async () => (await fixture.rows()).length === 1);
    expect(dispatcher.recorded.toSorted()).toEqual(ids.filter((id) => id !== bad).toSorted());
    expect((await fixture.rows()).map(({ id }) => id)).toEqual([bad]);
  });

  it('turns an error of a dispatcher into an outcome', async () => {
    const [id] = await fixture.insertRows(1);
    const dispatcher = new ProbeDispatcher(8, () => Promise.reject(new Error('boom')));
    await fixture.begin(dispatcher);
    await fixture.empty();
    expect(dispatcher.recorded).toEqual([`error ${id}`]);
  });

  it('quarantines a row that has killed its worker repeatedly', async () => {
    const [id] = await fixture.insertRows(1);
    await sql.query('update send_job set crashes = 5');
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    await fixture.begin(dispatcher);
    await fixture.empty();
    expect(dispatcher.begun).toEqual([]);
    expect(dispatcher.recorded).toEqual([`poison ${id}`]);
  });

  it('on stop releases rows that were not handed off, finishes the others, and deletes its own row', async () => {
    await fixture.insertRows(2);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let handed = '';
    const dispatcher = new ProbeDispatcher(8, async (job, lease) => {
      if (!handed) {
        handed = job.id;
        expect(await lease.handOff()).toBe(true);
        await released;
      } else {
        await new Promise((resolve) =>
          lease.signal.addEventListener('abort', resolve, { once: true }),
        );
        return null;
      }
      return done(job);
    });
    // Half of the time is for runs without a marker. The rest must be enough to store results on a
    // busy machine.
    const engine = await fixture.begin(dispatcher, { SHUTDOWN_SECONDS: '8' });
    await until('both rows to begin', async () => dispatcher.begun.length === 2);
    await until(
      'one row to be handed off',
      async () =>
        (await sql.query('select 1 from send_job where handoff_at is not null')).length > 0,
    );
    const stopped = fixture.stop(engine);
    release();
    await stopped;
    expect(dispatcher.recorded).toEqual([handed]);
    expect(await fixture.rows()).toMatchObject([{ state: 0, attempt: 0, ambiguous: false }]);
    expect(await sql.query('select * from worker')).toEqual([]);
  });

  it('registers again when its own row was deleted, and continues', async () => {
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    const engine = await fixture.begin(dispatcher);
    await sql.query('delete from worker');
    await until('a new name', async () => (await sql.query('select 1 from worker')).length > 0);
    const [id] = await fixture.insertRows(1);
    engine.wakeQueue('send');
    await until('the row', async () => dispatcher.recorded.includes(id ?? ''));
    expect(await sql.query('select * from worker')).toHaveLength(1);
  });
});
