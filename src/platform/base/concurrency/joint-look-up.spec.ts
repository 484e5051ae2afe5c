import { jest } from '@jest/globals';
import { JointLookUp } from './joint-look-up.ts';

/** A source that returns the values given by the test. */
function source() {
  const asked: {
    keys: string[];
    answer: (value: Map<string, number>) => void;
    fail: (error: Error) => void;
  }[] = [];
  const lookUp = new JointLookUp<number>((keys) => {
    const { promise, resolve, reject } = Promise.withResolvers<Map<string, number>>();
    asked.push({ keys, answer: resolve, fail: reject });
    return promise;
  });
  return { asked, lookUp };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));
const lengths = (text: string[]) => new Map(text.map((key) => [key, key.length]));

describe('JointLookUp', () => {
  it('sends one query for all callers of the same event loop iteration, with each key once', async () => {
    const { asked, lookUp } = source();
    const answers = Promise.all([
      lookUp.get('a'),
      lookUp.get('bb'),
      lookUp.get('a'),
      lookUp.get('nobody'),
    ]);
    await turn();
    expect(asked.map(({ keys }) => keys)).toEqual([['a', 'bb', 'nobody']]);
    asked[0]?.answer(lengths(['a', 'bb']));
    expect(await answers).toEqual([1, 2, 1, undefined]);
  });

  it('never returns the result of a query that began before the call', async () => {
    const { asked, lookUp } = source();
    const early = lookUp.get('a');
    await turn();
    const late = lookUp.get('a');
    await turn();
    expect(asked).toHaveLength(2);
    asked[0]?.answer(new Map([['a', 1]]));
    asked[1]?.answer(new Map());
    expect(await early).toBe(1);
    expect(await late).toBeUndefined();
  });

  it('lets later callers wait together while two queries run', async () => {
    const { asked, lookUp } = source();
    const answers = [];
    for (const key of ['a', 'b', 'c', 'd']) {
      answers.push(lookUp.get(key));
      await turn();
    }
    expect(asked.map(({ keys }) => keys)).toEqual([['a'], ['b']]);
    asked[1]?.answer(lengths(['b']));
    await answers[1];
    await turn();
    await turn();
    expect(asked.map(({ keys }) => keys)).toEqual([['a'], ['b'], ['c', 'd']]);
    asked[0]?.answer(lengths(['a']));
    asked[2]?.answer(lengths(['c', 'd']));
    expect(await Promise.all(answers)).toEqual([1, 1, 1, 1]);
  });

  it('asks for at most 200 keys in one query', async () => {
    const { asked, lookUp } = source();
    const keys = Array.from({ length: 450 }, (_, index) => `k${index}`);
    const answers = Promise.all(keys.map((key) => lookUp.get(key)));
    for (let done = 0; done < 3;) {
      await turn();
      for (; done < asked.length; done += 1) asked[done]?.answer(lengths(asked[done]?.keys ?? []));
    }
    expect(asked.map(({ keys: some }) => some.length)).toEqual([200, 200, 50]);
    expect((await answers).every((length) => length)).toBe(true);
  });

  it('reports a failure only to the callers of that query, and goes on', async () => {
    const { asked, lookUp } = source();
    const failed = lookUp.get('a');
    await turn();
    asked[0]?.fail(new Error('away'));
    await expect(failed).rejects.toThrow('away');
    const next = lookUp.get('a');
    await turn();
    asked[1]?.answer(lengths(['a']));
    expect(await next).toBe(1);
  });

  it('starts the next query when two running ones take longer than a second', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    try {
      const { asked, lookUp } = source();
      for (const key of ['a', 'b', 'c']) {
        void lookUp.get(key);
        await turn();
      }
      expect(asked).toHaveLength(2);
      jest.advanceTimersByTime(1_000);
      await turn();
      expect(asked.map(({ keys }) => keys)).toEqual([['a'], ['b'], ['c']]);
    } finally {
      jest.useRealTimers();
    }
  });
});
