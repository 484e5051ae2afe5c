import { ThreadPool } from './thread-pool.ts';

type Work = { sleep?: number; spin?: boolean; die?: boolean };
const SCRIPT = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ sleep, spin, die }) => {
      if (die) process.exit(1);
      while (spin);
      setTimeout(() => parentPort.postMessage('done'), sleep ?? 0);
    });`)}`,
);
const options = { script: SCRIPT, threads: 1, waiting: 2, perKey: 2, limitMs: 10_000, heapMb: 64 };

describe('ThreadPool', () => {
  let pool: ThreadPool<Work, string>;
  afterEach(() => pool.close());

  it('refuses what is too much in all, or for one key, before anything is prepared', async () => {
    pool = new ThreadPool(options);
    const running = ['a', 'a', 'b'].map((key) => pool.run(key, () => ({ sleep: 50 })));
    let prepared = false;
    const prepare = () => {
      prepared = true;
      return {};
    };
    await expect(pool.run('a', prepare)).rejects.toMatchObject({ code: 'neural.busy' });
    await expect(pool.run('c', prepare)).rejects.toMatchObject({ code: 'neural.busy' });
    expect(prepared).toBe(false);
    expect(await Promise.all(running)).toEqual(['done', 'done', 'done']);
    expect(await pool.run('a', prepare)).toBe('done');
  });

  it('ends work that takes too long, or whose thread dies, and goes on with the next', async () => {
    pool = new ThreadPool({ ...options, limitMs: 4_000 });
    await expect(pool.run('a', () => ({ spin: true }))).rejects.toMatchObject({ code: 'neural.failed' });
    await expect(pool.run('a', () => ({ die: true }))).rejects.toMatchObject({ code: 'neural.failed' });
    await expect(pool.run('a', () => Promise.reject(new Error('no bytes')))).rejects.toThrow('no bytes');
    expect(await pool.run('a', () => ({}))).toBe('done');
  });
});
