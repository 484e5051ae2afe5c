import { fork } from 'node:child_process';
import { task, type TaskLimits } from './task.ts';
import { startProcess } from './work-process.ts';
import { WorkThreads } from './work-threads.ts';

const MB = 2 ** 20;
const LIMITS: TaskLimits = { lane: 'short', timeMs: 500, inputBytes: MB, outputBytes: MB };
const define = task<typeof import('../../../test/support/acting-task.ts')>();
const act = (limits: Partial<TaskLimits> = {}) =>
  define(import.meta.url, '../../../test/support/acting-task', 'act', { ...LIMITS, ...limits });
const short = { runners: 2, memory: { heapMb: 64, buffersMb: 64 }, waiting: 2, perKey: 3 };
const long = { ...short, runners: 1, memory: { heapMb: 64, residentMb: 256 } };
const lanes = { short, long, togetherMb: 400 };

describe('WorkThreads', () => {
  let pool: WorkThreads;
  beforeEach(() => {
    pool = new WorkThreads(lanes);
  });
  afterEach(() => pool.close());

  it('returns results in the order of the inputs, and passes on errors of the function', async () => {
    const results = await pool.runAll(act(), 'a', [
      { say: 'one' },
      { fail: 'bad input' },
      { say: 'two' },
    ]);
    expect(results).toEqual([
      { output: 'one' },
      {
        error: expect.objectContaining({
          name: 'TaskFailedError',
          errorName: 'RangeError',
          message: 'bad input',
        }),
      },
      { output: 'two' },
    ]);
  });

  it('copies bytes, so that the caller keeps its own', async () => {
    const bytes = Buffer.from('hello').subarray(1, 3);
    expect(await pool.run(act(), 'a', { bytes })).toBe('el');
    expect(bytes.toString()).toBe('el');
  });

  it('ends the thread of an input that takes too long, and does not run that input again', async () => {
    const inputs = [{ say: 'before' }, { spin: true }, { say: 'after' }];
    expect(await pool.runAll(act(), 'a', inputs)).toEqual([
      { output: 'before' },
      { error: expect.objectContaining({ limit: 'time', code: 'work.time' }) },
      { output: 'after' },
    ]);
  });

  it('counts the processor time of an input, not the time in which a busy machine runs other programs', async () => {
    const task = act({ timeMs: 1_000 });
    expect(await pool.run(task, 'a', { rest: 1_300, say: 'rested' })).toBe('rested');
  });

  it('ends the thread of an input that uses no processor after five times the limit', async () => {
    const waiting = pool.run(act({ timeMs: 200 }), 'a', { rest: 150_000 });
    await expect(waiting).rejects.toMatchObject({ limit: 'time' });
  });

  it.each([
    ['memory', { hoard: true }],
    ['memory', { fill: true }],
    ['crash', { exit: true }],
    ['size', { say: 'x', times: 2 * MB }],
    ['size', { say: 'x'.repeat(2 * MB) }],
  ])('reports the limit that was hit: %s', async (limit, input) => {
    const results = await pool.runAll(act({ timeMs: 60_000 }), 'a', [input, { say: 'after' }]);
    expect(results).toEqual([{ error: expect.objectContaining({ limit }) }, { output: 'after' }]);
  });

  it('keeps a thread free while one key and slow keys are stuck', async () => {
    const slow = act({ timeMs: 30_000 });
    // Ends in `close`.
    const stuck = [pool.run(slow, 'a', { spin: true }), pool.run(slow, 'a', { spin: true })];
    const settled = Promise.allSettled(stuck);
    expect(await pool.run(act(), 'b', { say: 'b' })).toBe('b');
    expect(await pool.run(act(), 'c', { say: 'c' })).toBe('c');
    await pool.close();
    expect((await settled).map((result) => result.status)).toEqual(['rejected', 'rejected']);
  });

  it('lets a key whose input hit a limit wait behind other keys', async () => {
    const bomb = { spin: true };
    await Promise.allSettled(['a', 'b'].map((key) => pool.run(act(), key, bomb)));
    const order: string[] = [];
    const again = ['a', 'b'].map((key) =>
      pool
        .run(act({ timeMs: 1_000 }), key, bomb, { patient: true })
        .catch(() => order.push('bomb')),
    );
    const others = ['c', 'd', 'e'].map(async (key) => {
      await pool.run(act(), key, { say: key }, { patient: true });
      order.push(key);
    });
    await Promise.all([...again, ...others]);
    expect(order).toEqual(['c', 'd', 'e', 'bomb', 'bomb']);
  });

  it('refuses impatient calls beyond its limits before it loads their input, and lets patient calls wait', async () => {
    const task = act({ lane: 'long', timeMs: 30_000 });
    let loaded = 0;
    const load = async () => {
      loaded += 1;
      return { say: 'x' };
    };
    const first = [1, 2, 3].map(() => pool.run(task, 'a', load));
    await expect(pool.run(task, 'a', load)).rejects.toMatchObject({
      limit: 'busy',
      kind: 'unavailable',
    });
    await expect(pool.run(task, 'b', load)).rejects.toMatchObject({ limit: 'busy' });
    expect(loaded).toBe(3);
    expect(await pool.run(task, 'b', { say: 'patient' }, { patient: true })).toBe('patient');
    await Promise.all(first);
    expect(await pool.run(task, 'a', load)).toBe('x');
  });

  it('runs each input of long work in a process of its own', async () => {
    const long = act({ lane: 'long', timeMs: 30_000 });
    const inputs = [{ pid: true }, { exit: true }, { pid: true }];
    const results = await pool.runAll(long, 'a', inputs);
    const pids = results.flatMap((result) => ('output' in result ? [result.output] : []));
    expect(results[1]).toEqual({ error: expect.objectContaining({ limit: 'crash' }) });
    expect(new Set([...pids, String(process.pid)]).size).toBe(3);
    process.env['WORK_THREADS_SECRET'] = 'secret';
    expect(await pool.run(long, 'a', { env: true })).not.toContain('WORK_THREADS_SECRET');
    delete process.env['WORK_THREADS_SECRET'];
  });

  it.each([
    ['memory', { wasmMb: 400 }],
    ['memory', { hoard: true }],
    ['memory', { fill: true }],
    ['time', { spin: true }],
  ])('ends a process that hits a limit: %s of %j', async (limit, input) => {
    const long = act({ lane: 'long', timeMs: limit === 'time' ? 500 : 60_000 });
    const results = await pool.runAll(long, 'a', [input, { say: 'after' }]);
    expect(results).toEqual([{ error: expect.objectContaining({ limit }) }, { output: 'after' }]);
  });

  it.each([
    [
      'throws',
      () => {
        throw Object.assign(new Error('spawn ENOMEM'), { code: 'ENOMEM' });
      },
    ],
    ['reports an error later', () => fork('-', { execPath: '/nowhere', stdio: 'ignore' })],
  ])('refuses long work as busy when the start of a process %s', async (_how, start) => {
    let fails = true;
    const strained = new WorkThreads(lanes, () => (fails ? start() : startProcess()));
    const long = act({ lane: 'long', timeMs: 60_000 });
    const busy = { error: expect.objectContaining({ limit: 'busy', kind: 'unavailable' }) };
    const calls = ['a', 'b'].map((key) =>
      strained.runAll(long, key, [{ say: 'one' }, { say: 'two' }]),
    );
    expect(await Promise.all(calls)).toEqual([
      [busy, busy],
      [busy, busy],
    ]);
    fails = false;
    expect(await strained.run(long, 'a', { say: 'again' })).toBe('again');
    await strained.close();
  });

  it('ends the one that uses most memory if all together use too much', async () => {
    const tight = new WorkThreads({ ...lanes, togetherMb: 160 });
    const working = tight.run(act({ timeMs: 60_000 }), 'a', { rest: 3_000, say: 'rested' });
    await expect(
      tight.run(act({ lane: 'long', timeMs: 60_000 }), 'a', { wasmMb: 150 }),
    ).rejects.toMatchObject({
      limit: 'memory',
      details: { cause: expect.stringContaining('together') },
    });
    expect(await working).toBe('rested');
    await tight.close();
  });

  it('fails unfinished work when it is closed, and refuses new work', async () => {
    const running = pool.runAll(act({ timeMs: 60_000 }), 'a', [{ spin: true }, { say: 'x' }]);
    await pool.close();
    const closed = { error: expect.objectContaining({ limit: 'closed' }) };
    expect(await running).toEqual([closed, closed]);
    await expect(pool.run(act(), 'a', { say: 'x' })).rejects.toMatchObject({ limit: 'closed' });
  });

  it('gives threads an empty environment', async () => {
    process.env['WORK_THREADS_SECRET'] = 'secret';
    expect(await pool.run(act(), 'a', { env: true })).not.toContain('WORK_THREADS_SECRET');
    delete process.env['WORK_THREADS_SECRET'];
  });
});
