import { setImmediate as turn } from 'node:timers/promises';
import { ByteBudget } from './byte-budget.ts';

function held(): { work: () => Promise<void>; end: () => void; begun: () => boolean } {
  let begun = false;
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const work = () => {
    begun = true;
    return ended;
  };
  return { work, end, begun: () => begun };
}

describe('ByteBudget', () => {
  it('runs work together while it fits into the budget, and the rest in order', async () => {
    const budget = new ByteBudget(10);
    const jobs = [6, 4, 5, 1].map((bytes) => ({ bytes, ...held() }));
    const runs = jobs.map(({ bytes, work }) => budget.run(bytes, work));
    await turn();
    expect(jobs.map(({ begun }) => begun())).toEqual([true, true, false, false]);
    expect(budget.used).toBe(10);
    jobs[1]?.end();
    await turn();
    // The last one would fit, but an earlier one is still waiting.
    expect(jobs.map(({ begun }) => begun())).toEqual([true, true, false, false]);
    jobs[0]?.end();
    await turn();
    expect(jobs.map(({ begun }) => begun())).toEqual([true, true, true, true]);
    for (const { end } of jobs) end();
    await Promise.all(runs);
    expect(budget.used).toBe(0);
  });

  it('runs work that is larger than the budget alone', async () => {
    const budget = new ByteBudget(10);
    const [small, large] = [held(), held()];
    const runs = [budget.run(1, small.work), budget.run(1_000, large.work)];
    await turn();
    expect(large.begun()).toBe(false);
    small.end();
    await turn();
    expect([large.begun(), budget.used]).toEqual([true, 10]);
    large.end();
    await Promise.all(runs);
  });

  it('frees the bytes of work that fails', async () => {
    const budget = new ByteBudget(10);
    const failed = new Error('failed');
    await expect(budget.run(10, () => Promise.reject(failed))).rejects.toBe(failed);
    await expect(budget.run(10, async () => 'next')).resolves.toBe('next');
  });
});
