import { jest } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { Batcher } from './batcher.ts';

/** A batcher whose calls end when the test says so. */
function scene() {
  const calls: { items: number[]; end: () => void }[] = [];
  const batcher = new Batcher<number>(
    (items) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      calls.push({ items, end: resolve });
      return promise;
    },
    { most: 50, parallel: 2, delayMs: 1_000 },
  );
  const add = (count: number) => {
    for (let n = 0; n < count; n += 1) batcher.add(n);
  };
  return {
    batcher,
    add,
    sizes: () => calls.map(({ items }) => items.length),
    end: (n: number) => calls[n]?.end(),
  };
}

describe('Batcher', () => {
  beforeEach(() =>
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }),
  );
  afterEach(() => jest.useRealTimers());

  it('hands on all items of one event loop iteration together and at once while no call runs', async () => {
    const { add, sizes } = scene();
    add(3);
    expect(sizes()).toEqual([]);
    await turn();
    expect(sizes()).toEqual([3]);
  });

  it('hands on waiting items as soon as a call with few items has ended', async () => {
    const { add, sizes, end } = scene();
    add(2);
    await turn();
    add(1);
    await turn();
    expect(sizes()).toEqual([2]);
    end(0);
    await turn();
    await turn();
    expect(sizes()).toEqual([2, 1]);
  });

  it('after a call with many items, lets the next items wait their full time', async () => {
    const { add, sizes, end } = scene();
    add(20);
    await turn();
    add(1);
    end(0);
    await turn();
    add(4);
    await turn();
    expect(sizes()).toEqual([20]);
    jest.advanceTimersByTime(1_000);
    expect(sizes()).toEqual([20, 5]);
  });

  it('hands on items that have waited their full time as soon as a call ends', async () => {
    const { add, sizes, end } = scene();
    add(100);
    await turn();
    expect(sizes()).toEqual([50, 50]);
    add(1);
    jest.advanceTimersByTime(1_000);
    add(1);
    end(0);
    await turn();
    await turn();
    expect(sizes()).toEqual([50, 50, 2]);
  });

  it('bounds the total size of the items of a call, and handles a larger item alone', async () => {
    const calls: number[][] = [];
    const batcher = new Batcher<number>(
      (items) => {
        calls.push(items);
        return Promise.resolve();
      },
      { most: 4, parallel: 9, delayMs: 0, size: { of: (item) => item, most: 10 } },
    );
    for (const item of [6, 4, 11]) batcher.add(item);
    await turn();
    expect(calls).toEqual([[6, 4], [11]]);
    for (const item of [3, 8, 1, 1]) batcher.add(item);
    await turn();
    expect(calls.slice(2)).toEqual([[3], [8, 1, 1]]);
  });

  it('handles all items when drained, including items that wait for others', async () => {
    const { batcher, add, sizes, end } = scene();
    add(20);
    await turn();
    add(1);
    end(0);
    await turn();
    let drained = false;
    const all = batcher.drain().then(() => (drained = true));
    await turn();
    expect(sizes()).toEqual([20, 1]);
    expect(drained).toBe(false);
    end(1);
    await all;
  });
});
