import { jest } from '@jest/globals';
import { JointEnds } from './joint-ends.ts';

const MOST = 3;

describe('JointEnds', () => {
  let ends: JointEnds;
  let ended: string[];

  beforeEach(() => {
    jest.useFakeTimers();
    ends = new JointEnds(MOST);
    ended = [];
  });
  afterEach(() => jest.useRealTimers());

  /** Starts a pass. @returns a function that lets it come to its end */
  function start(name: string, found = false): () => Promise<void> {
    let finish: () => void = () => undefined;
    const pass = new Promise<boolean>((resolve) => {
      finish = () => resolve(found);
    });
    void ends
      .run(
        () => pass,
        (result) => !result,
      )
      .then(() => ended.push(name));
    return async () => {
      finish();
      await jest.advanceTimersByTimeAsync(0);
    };
  }

  it('ends a pass at once if no other one is running', async () => {
    await start('one')();
    expect(ended).toEqual(['one']);
  });

  it('ends passes together once no other one is running', async () => {
    const [one, two] = [start('one'), start('two')];
    await one();
    expect(ended).toEqual([]);
    await two();
    expect(ended).toEqual(['one', 'two']);
  });

  it('ends passes together once enough of them wait', async () => {
    const passes = ['1', '2', '3', '4', '5'].map((name) => start(name));
    for (const finish of passes.slice(0, MOST - 1)) await finish();
    expect(ended).toEqual([]);
    await passes[MOST - 1]?.();
    expect(ended).toEqual(['1', '2', '3']);
  });

  it('ends a pass that has found something at once, and the one that waited for it', async () => {
    const [quiet, found] = [start('quiet'), start('found', true)];
    await quiet();
    await found();
    expect(ended.toSorted()).toEqual(['found', 'quiet']);
  });

  it('lets a pass wait for half a second at most', async () => {
    const [quiet] = [start('quiet'), start('long')];
    await quiet?.();
    await jest.advanceTimersByTimeAsync(499);
    expect(ended).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(ended).toEqual(['quiet']);
  });
});
