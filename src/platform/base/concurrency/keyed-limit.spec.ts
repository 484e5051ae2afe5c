import { KeyedLimit } from './keyed-limit.ts';

describe('KeyedLimit', () => {
  it('runs a limited number of one key at a time, in order, even if some fail', async () => {
    const limit = new KeyedLimit(2);
    const begun: number[] = [];
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
    const results = gates.map(({ promise }, index) =>
      limit.run('a', () => {
        begun.push(index);
        return promise;
      }),
    );
    const all = Promise.allSettled(results);
    expect(begun).toEqual([0, 1]);
    gates[1]?.reject(new Error('x'));
    await expect(results[1]).rejects.toThrow('x');
    expect(begun).toEqual([0, 1, 2]);
    for (const [index, { resolve }] of gates.entries()) resolve(index);
    expect((await all).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ]);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
  });

  it('does not delay other keys, and starts from zero once a key is done', async () => {
    const limit = new KeyedLimit(1);
    const gate = Promise.withResolvers<string>();
    const slow = limit.run('a', () => gate.promise);
    expect(await limit.run('b', async () => 'b')).toBe('b');
    gate.resolve('a');
    expect(await slow).toBe('a');
    expect(await limit.run('a', async () => 'again')).toBe('again');
  });
});
