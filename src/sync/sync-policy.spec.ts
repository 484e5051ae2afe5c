import { nextLook } from './sync-policy.ts';

describe('nextLook', () => {
  const now = new Date(0);
  it.each([
    [0, null, 0.5, 60],
    [0, null, 0, 54],
    [0, null, 1, 66],
    [1, null, 0.5, 120],
    [5, null, 0.5, 1920],
    [9, null, 0.5, 3600],
    [32_000, null, 0.5, 3600],
    [1, 300, 0.5, 300],
    [1, 10, 0.5, 120],
    [1, 1e9, 0.5, 86_400],
  ])('after %d failures, told %p seconds, random %d: %d s', (failures, retryAfter, random, seconds) => {
    expect(nextLook(now, failures, retryAfter, random).getTime()).toBeCloseTo(seconds * 1000, 3);
  });
});
