import { Logger } from '@nestjs/common';
import { jest } from '@jest/globals';
import { newId } from '../../src/platform/base/ids/ids.ts';
import type { RateGateSignal } from '../../src/platform/work/queue/dispatcher.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { queueStatements } from '../../src/platform/work/queue/queue-statements.ts';
import {
  done,
  type EngineFixture,
  failed,
  ProbeDispatcher,
  startEngineFixture,
} from '../support/engine-fixture.ts';
import { until } from '../support/until.ts';

const TROUBLE: RateGateSignal = { kind: 'trouble', reason: 'nobody answers' };
const WELL: RateGateSignal = { kind: 'well' };

describe('the circuit breaker of a rate gate', () => {
  let fixture: EngineFixture;
  let sql: EngineFixture['sql'];
  let account: string;

  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(async () => {
    fixture = await startEngineFixture();
    ({ sql } = fixture);
    account = newId();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await fixture.close();
  });

  const stop = (seconds: number, failures = 0) =>
    sql.query(
      `insert into account_gate (account_id, failures, closed_until, close_reason)
       values ($1, $2, now() + $3 * interval '1 s', 'asked to wait')`,
      [account, failures, seconds],
    );

  it('writes nothing while there are no failures', async () => {
    await fixture.insertRows(20, account);
    const dispatcher = new ProbeDispatcher(8, async (job) => ({ ...done(job), gate: WELL }));
    // Each account has one row, so that pacing writes nothing either.
    await sql.query('update send_job set account_id = gen_random_uuid()');
    await fixture.begin(dispatcher);
    await fixture.empty();
    expect(await sql.query('select * from account_gate')).toEqual([]);
  });

  it('counts concurrent failures as one', async () => {
    await fixture.insertRows(8, account);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const dispatcher = new ProbeDispatcher(8, async (job) => {
      await released;
      return failed(job, TROUBLE);
    });
    await fixture.begin(dispatcher);
    await until('all to be in flight', async () => dispatcher.begun.length === 8);
    release();
    await until('all results to be stored', async () =>
      (await fixture.rows()).every(({ state, run_at }) => state === 0 && +run_at > Date.now()),
    );
    expect(await fixture.gate(account)).toEqual({ failures: 1, stoppedFor: null, reason: null });
  });

  it('stops after five failures in a row; waiting rows then make no attempt and keep their order', async () => {
    // Enough slots that one claim sees all waiting rows.
    const dispatcher = new ProbeDispatcher(16, async (job) => failed(job, TROUBLE));
    const engine = await fixture.begin(dispatcher);
    for (let troubles = 1; troubles <= 5; troubles += 1) {
      await fixture.insertRows(1, account);
      engine.wakeQueue('send');
      await until(
        'the failure to be counted',
        async () => (await fixture.gate(account))?.failures === troubles,
      );
    }
    const gate = await fixture.gate(account);
    expect(gate).toMatchObject({ failures: 5, reason: 'nobody answers' });
    expect(gate?.stoppedFor).toBeGreaterThan(25);
    expect(gate?.stoppedFor).toBeLessThanOrEqual(30);

    const ids = await fixture.insertRows(20, account);
    engine.wakeQueue('send');
    await until('the rows to be deferred', async () =>
      (await fixture.rows())
        .filter(({ id }) => ids.includes(id))
        .every(({ run_at }) => +run_at > Date.now() + 20_000),
    );
    expect(dispatcher.begun).toHaveLength(5);
    expect((await fixture.rows()).every(({ state, crashes }) => state === 0 && crashes === 0)).toBe(
      true,
    );
    const parked = (await fixture.rows()).filter(({ id }) => ids.includes(id));
    expect(parked.toSorted((a, b) => +a.run_at - +b.run_at).map(({ id }) => id)).toEqual(ids);
    expect(parked.every(({ attempt }) => attempt === 0)).toBe(true);
  });

  it('doubles its pause with each further failure, up to 15 minutes', async () => {
    const dispatcher = new ProbeDispatcher(8, async (job) => failed(job, TROUBLE));
    const engine = await fixture.begin(dispatcher);
    await stop(-1, 5);
    for (const [failures, seconds] of [
      [6, 60],
      [7, 120],
      [8, 240],
      [9, 480],
      [10, 900],
      [11, 900],
    ] as const) {
      await fixture.insertRows(1, account);
      engine.wakeQueue('send');
      await until('the failure', async () => (await fixture.gate(account))?.failures === failures);
      const stoppedFor = (await fixture.gate(account))?.stoppedFor ?? 0;
      expect(stoppedFor).toBeGreaterThan(seconds - 5);
      expect(stoppedFor).toBeLessThanOrEqual(seconds);
      await sql.query(`update account_gate set closed_until = now()`);
    }
  });

  it('admits one row at a time after the pause, until one succeeds', async () => {
    await stop(-1, 5);
    const [probe] = await fixture.insertRows(1, account, -1000);
    const others = await fixture.insertRows(7, account);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const dispatcher = new ProbeDispatcher(8, async (job) => {
      if (job.id === probe) await released;
      return { ...done(job), gate: WELL };
    });
    await fixture.begin(dispatcher);
    await until('the other rows to be deferred', async () =>
      (await fixture.rows())
        .filter(({ id }) => others.includes(id))
        .every(({ run_at }) => +run_at > Date.now() + 200),
    );
    expect(dispatcher.begun).toEqual([probe]);
    release();
    await until(
      'the circuit breaker to run again',
      async () => (await fixture.gate(account))?.failures === 0,
    );
    expect(await fixture.gate(account)).toEqual({ failures: 0, stoppedFor: null, reason: null });
    await fixture.empty();
  });

  it('stops at once when the provider asks for a pause, even if another row succeeds during it', async () => {
    const [asks, other] = await fixture.insertRows(2, account);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const dispatcher = new ProbeDispatcher(8, async (job) => {
      if (job.id === asks)
        return failed(job, { kind: 'stop', seconds: 3_600, reason: 'daily limit' });
      await released;
      return { ...done(job), gate: WELL };
    });
    await fixture.begin(dispatcher);
    await until(
      'the circuit breaker to stop',
      async () => (await fixture.gate(account))?.reason === 'daily limit',
    );
    release();
    await until('the other result to be stored', async () =>
      (await fixture.rows()).every(({ id }) => id !== other),
    );
    const gate = await fixture.gate(account);
    expect(gate).toMatchObject({ failures: 0, reason: 'daily limit' });
    expect(gate?.stoppedFor).toBeGreaterThan(3_590);
  });

  it.each<RateGateSignal>([
    { kind: 'stop', seconds: 60, reason: `421 \0\ud800${'x'.repeat(100_000)}` },
    { kind: 'trouble', reason: `421 \0\ud800${'x'.repeat(100_000)}` },
  ])(
    'stores the reason that a server gave, without bytes that the database refuses ($kind)',
    async (signal) => {
      await sql.query('insert into account_gate (account_id, failures) values ($1, 4)', [account]);
      const [id] = await fixture.insertRows(1, account);
      const dispatcher = new ProbeDispatcher(8, async (job) => failed(job, signal));
      await fixture.begin(dispatcher);
      await until('the result to be stored', async () => dispatcher.recorded.length > 0);
      await until(
        'the circuit breaker to stop',
        async () => (await fixture.gate(account))?.stoppedFor,
      );
      expect((await fixture.gate(account))?.reason).toMatch(/^421 \ufffdx{490,496}$/);
      expect(await fixture.rows()).toMatchObject([{ id, state: 0, crashes: 0 }]);
    },
  );

  it('admits a row at its deadline, and does not extend its pause when that attempt fails', async () => {
    await stop(600, 5);
    const [hasTime, hasNone, isNear] = await fixture.insertRows(3, account);
    await sql.query(
      `update send_job set retry_limit_at = case when id = $1 then now() else now() + interval '2 s' end where id = any($2)`,
      [hasNone, [hasNone, isNear]],
    );
    const dispatcher = new ProbeDispatcher(8, async (job) => ({ ...done(job), gate: TROUBLE }));
    await fixture.begin(dispatcher);
    await until(
      'both rows at their deadline to end',
      async () => (await fixture.rows()).length === 1,
    );
    expect(dispatcher.recorded).toEqual([hasNone, isNear]);
    expect((await fixture.rows()).map(({ id }) => id)).toEqual([hasTime]);
    const gate = await fixture.gate(account);
    expect(gate?.failures).toBe(5);
    expect(gate?.stoppedFor).toBeLessThanOrEqual(600);
  });

  it('reports each row that will be more than a minute late once, with the reason', async () => {
    await stop(120);
    const [late] = await fixture.insertRows(1, account);
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    const engine = await fixture.begin(dispatcher);
    await until('the late row', async () => dispatcher.late.length > 0);
    expect(dispatcher.late).toEqual([{ id: late, reason: 'asked to wait' }]);
    // The row is deferred once more, and not reported again.
    await sql.query('update send_job set run_at = now()');
    await sql.query(`update account_gate set closed_until = now() + interval '10 s'`);
    const [soon] = await fixture.insertRows(1, account);
    engine.wakeQueue('send');
    await until('both rows to be deferred', async () =>
      (await fixture.rows()).every(({ run_at }) => +run_at > Date.now() + 5_000),
    );
    expect(dispatcher.late.map(({ id }) => id)).not.toContain(soon);
  });

  it('reports the rate limit as the reason when there is no other', async () => {
    await sql.query(
      `insert into account_gate (account_id, slot_ms, max_in_flight) values ($1, 30000, 1)`,
      [account],
    );
    const ids = await fixture.insertRows(5, account);
    const dispatcher = new ProbeDispatcher(8, async (job) => done(job));
    await fixture.begin(dispatcher);
    await until('the late rows', async () => dispatcher.late.length === 3);
    expect(dispatcher.late).toEqual(
      ids.slice(2).map((id) => ({ id, reason: `waiting for the account's sending pace` })),
    );
  });

  it("lets rows without a free slot return at the account's rate, and not later", async () => {
    const ids = await fixture.insertRows(12, account);
    const end = Promise.withResolvers<void>();
    const dispatcher = new ProbeDispatcher(50, async (job) => {
      await end.promise;
      return done(job);
    });
    await fixture.begin(dispatcher);
    await until('eight rows to be claimed', async () => dispatcher.begun.length === 8);
    // The rows are deferred from now on, no matter how often they were before.
    const waits = await sql.query<{ ms: number }>(
      `select (extract(epoch from run_at - now()) * 1000)::float8 as ms from send_job where state = 0`,
    );
    expect(waits).toHaveLength(4);
    for (const { ms } of waits) expect(ms).toBeLessThan(1_000);
    end.resolve();
    await fixture.empty();
    expect(new Set(dispatcher.recorded)).toEqual(new Set(ids));
  });

  it('frees the slots of finished rows before their results are stored', async () => {
    const first = await fixture.insertRows(8, account);
    const written = Promise.withResolvers<void>();
    const dispatcher = new ProbeDispatcher(50, async (job) => done(job));
    const record = dispatcher.record.bind(dispatcher);
    dispatcher.record = async (...parameters) => {
      await written.promise;
      return record(...parameters);
    };
    const engine = await fixture.begin(dispatcher);
    await until('eight rows to have begun', async () => dispatcher.begun.length === 8);
    const second = await fixture.insertRows(8, account);
    engine.wakeQueue('send');
    await until('the other rows to have begun', async () => dispatcher.begun.length === 16);
    expect(dispatcher.recorded).toEqual([]);
    written.resolve();
    await fixture.empty();
    expect(new Set(dispatcher.recorded)).toEqual(new Set([...first, ...second]));
  });

  it('admits no further row while the outcome of a trial is unknown', async () => {
    const claim = queueStatements(new ProbeDispatcher(8, async (job) => done(job)).table).claim;
    await sql.query(
      `insert into account_gate (account_id, failures, closed_until) values ($1, 5, now() - interval '1 s')`,
      [account],
    );
    const [tried, next] = await fixture.insertRows(2, account);
    await sql.query('update send_job set state = 1, fence = 1 where id = $1', [tried]);
    const taken = await sql.query<{ id: string | null }>(claim, [
      8,
      1,
      '-infinity',
      8,
      8,
      [tried],
      0,
    ]);
    expect(taken).toMatchObject([{ id: null, summary: { seen: 1, parked: 1 } }]);
    await sql.query('update send_job set run_at = now()');
    await sql.query('update account_gate set failures = 0, closed_until = null');
    expect(await sql.query(claim, [8, 1, '-infinity', 8, 8, [tried], 0])).toMatchObject([
      { id: next },
    ]);
  });

  it('reads more rows when the first ones belong to an account without free slots', async () => {
    await Promise.all(Array.from({ length: 20 }, () => fixture.insertRows(1)));
    const asked = jest.spyOn(SqlPool.prototype, 'query');
    const windows = () =>
      asked.mock.calls.flatMap(([text, values]) =>
        text.includes('due_rows as materialized')
          ? [[values?.[0], values?.[3]] as [number, number]]
          : [],
      );
    const end = Promise.withResolvers<void>();
    const dispatcher = new ProbeDispatcher(20, async (job) => {
      if (job.gateId === account) await end.promise;
      return done(job);
    });
    const engine = await fixture.begin(dispatcher);
    await fixture.empty();
    expect(windows().length).toBeGreaterThan(0);
    for (const [free, window] of windows()) expect(window).toBe(free);
    asked.mockClear();
    await fixture.insertRows(60, account);
    const [other] = await fixture.insertRows(1);
    engine.wakeQueue('send');
    await until('the row behind them', async () => dispatcher.recorded.includes(other ?? ''));
    expect(windows().some(([free, window]) => window > free)).toBe(true);
    end.resolve();
    await fixture.empty();
  });
});
