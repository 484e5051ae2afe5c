import { forEachAtOnce } from './for-each-at-once.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('forEachAtOnce', () => {
  it('runs the work for every item, and never more than allowed at the same time', async () => {
    const done: number[] = [];
    let running = 0;
    let most = 0;
    await forEachAtOnce(3, [1, 2, 3, 4, 5, 6, 7], async (item) => {
      running += 1;
      most = Math.max(most, running);
      await turn();
      running -= 1;
      done.push(item);
    });
    expect(done).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(most).toBe(3);
  });

  it('begins nothing after a failure, and ends when the work that had begun has ended', async () => {
    const begun: number[] = [];
    let isEnded = false;
    const work = forEachAtOnce(2, [1, 2, 3, 4], async (item) => {
      begun.push(item);
      if (item === 1) throw new Error('failed');
      await turn();
      isEnded = true;
    });
    await expect(work).rejects.toThrow('failed');
    expect(begun).toEqual([1, 2]);
    expect(isEnded).toBe(true);
  });
});
