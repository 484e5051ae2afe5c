import { describe, expect, it } from '@jest/globals';
import { backoff, spread } from './backoff.ts';

describe('backoff', () => {
  it('doubles the wait after each failure, up to the longest wait', () => {
    const waits = [0, 1, 2, 3, 4, 5, 30_000].map((failures) =>
      backoff({ first: 30, longest: 200 }, failures),
    );
    expect(waits).toEqual([30, 30, 60, 120, 200, 200, 200]);
  });

  it('spreads a wait evenly in both directions', () => {
    expect([0, 0.5, 1].map((random) => spread(100, 0.2, random))).toEqual([80, 100, 120]);
  });
});
