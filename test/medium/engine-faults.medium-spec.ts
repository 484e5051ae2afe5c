import { Logger } from '@nestjs/common';
import { jest } from '@jest/globals';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import {
  done,
  type EngineFixture,
  ProbeDispatcher,
  startEngineFixture,
} from '../support/engine-fixture.ts';
import { until } from '../support/until.ts';

/** Blocks this whole process, as a long garbage collection or a paused container would. */
const freeze = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

describe('Engine, under faults', () => {
  let fixture: EngineFixture;
  let sql: EngineFixture['sql'];

  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(async () => {
    fixture = await startEngineFixture();
    ({ sql } = fixture);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await fixture.close();
  });

  it('runs a row that it has claimed even if the response to the claim was lost', async () => {
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    await fixture.begin(dispatcher);
    const [id] = await fixture.insertRows(1, newId(), 3_600_000);
    // The state after a claim whose response was lost with its connection.
    await sql.query(
      'update send_job set state = 1, fence = 1, attempt = 1, worker_id = (select id from worker)',
    );
    await until('the row to run', async () => dispatcher.recorded.includes(id ?? ''));
  });

  it('repeats a result that cannot be stored, and later runs the row again', async () => {
    const [id] = await fixture.insertRows(1);
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    let failures = 0;
    dispatcher.failRecord = () => ++failures <= 6;
    await fixture.begin(dispatcher);
    await fixture.empty();
    expect(dispatcher.recorded).toEqual([id]);
    expect(dispatcher.begun).toEqual([id, id]);
  });

  it('runs other rows when the attempt counter of one is at its maximum', async () => {
    await fixture.insertRows(1);
    await sql.query('update send_job set attempt = 32767, crashes = 4');
    const [other] = await fixture.insertRows(1);
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    await fixture.begin(dispatcher);
    await fixture.empty();
    expect(dispatcher.recorded).toContain(other);
  });

  it('runs rows that have killed two workers one at a time, whichever process claims them', async () => {
    const [elsewhere] = await fixture.insertRows(3);
    await sql.query('update send_job set crashes = 2');
    await sql.query(
      `insert into worker (id, host, pid, seen_at) values (77, 'alive', 1, now() + interval '1 hour')`,
    );
    await sql.query(
      'update send_job set state = 1, worker_id = 77, fence = 1, handoff_at = now() where id = $1',
      [elsewhere],
    );
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const suspects: string[] = [];
    const dispatcher = new ProbeDispatcher(8, async (job) => {
      const [row] = (await fixture.rows()).filter(({ id }) => id === job.id);
      if (row?.crashes === 2) {
        suspects.push(job.id);
        await released;
      }
      return done(job);
    });
    // A claim has read every row that was due before one that it took.
    const claim = async () => {
      const [id = ''] = await fixture.insertRows(1);
      await until('a later row to run', async () => dispatcher.recorded.includes(id));
    };
    const engine = await fixture.begin(dispatcher);
    await claim();
    expect(suspects).toEqual([]);
    // One claim finds both of the others due.
    await sql.query(
      `with ended as (delete from send_job where id = $1)
       update send_job set run_at = now() where state = 0`,
      [elsewhere],
    );
    engine.wakeQueue('send');
    await until('a suspect to run', async () => suspects.length > 0);
    await sql.query(`update send_job set run_at = now() where state = 0`);
    await claim();
    expect(suspects).toHaveLength(1);
    release();
    await fixture.empty();
    expect(suspects).toHaveLength(2);
  });

  it('refuses the hand-off and the result of an earlier claim, although the same worker has a later one', async () => {
    const [id] = await fixture.insertRows(1);
    const answers: boolean[] = [];
    const dispatcher = new ProbeDispatcher(8, async (job, lease) => {
      if (dispatcher.begun.length === 1) await sql.query('update send_job set fence = fence + 1');
      answers.push(await lease.handOff());
      return done(job);
    });
    await fixture.begin(dispatcher);
    await fixture.empty();
    expect(answers).toEqual([false, true]);
    expect(dispatcher.begun).toEqual([id, id]);
    expect(dispatcher.recorded).toEqual([id]);
  });

  it('polls slowly while a due row is locked by another transaction', async () => {
    const [id] = await fixture.insertRows(1);
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    const asked = jest.spyOn(SqlPool.prototype, 'query');
    await sql.transaction(async (locking) => {
      await locking.query('select 1 from send_job for update');
      const ticks = jest.spyOn(await fixture.begin(dispatcher), 'tick');
      const before = asked.mock.calls.length;
      await until('a second of the fixture', async () => ticks.mock.calls.length >= 10);
      // In this second there are ten ticks, with two statements each.
      expect(asked.mock.calls.length - before).toBeLessThan(60);
    });
    await until('the row', async () => dispatcher.recorded.includes(id ?? ''));
  });

  it('finds a row that became due long before it was committed', async () => {
    const [first] = await fixture.insertRows(1);
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    const engine = await fixture.begin(dispatcher);
    await until('the first', async () => dispatcher.recorded.includes(first ?? ''));
    const asked = jest.spyOn(SqlPool.prototype, 'query');
    const [late] = await fixture.insertRows(1, newId(), -120_000);
    const before = asked.mock.calls.length;
    engine.wakeQueue('send');
    await until('the late row', async () => dispatcher.recorded.includes(late ?? ''));
    // The first claim reads from the scan floor on and misses the row. The next claim ignores the
    // floor, long before the regular claim that does so.
    const floors = asked.mock.calls.slice(before).map(([, values]) => values?.[2]);
    const claims = floors.filter((floor) => floor instanceof Date || floor === '-infinity');
    expect(claims.slice(0, 2)).toContain('-infinity');
  });

  it('continues after a pause in which no other worker has taken its rows', async () => {
    await fixture.insertRows(1);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const aborted: boolean[] = [];
    let handedOff = false;
    const dispatcher = new ProbeDispatcher(8, async (job, lease) => {
      handedOff = await lease.handOff();
      await released;
      aborted.push(lease.signal.aborted);
      return done(job);
    });
    const engine = await fixture.begin(dispatcher);
    await until('the run to be handed off', async () => handedOff);
    freeze(3_000);
    // One of them may have been sent before the pause.
    await engine.tick();
    await engine.tick();
    release();
    await fixture.empty();
    expect(aborted).toEqual([false]);
    expect(dispatcher.recorded).toHaveLength(1);
  });
});
