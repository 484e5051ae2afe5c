import { nextAttempt, nextPoll, watchWaitSeconds } from './sync-policy.ts';

const now = new Date(0);

describe('nextPoll', () => {
  it.each([
    [60, 0.5, 60],
    [60, 0, 54],
    [900, 1, 990],
  ])('a poll every %d s, random %d: %d s', (poll, random, seconds) => {
    expect(nextPoll(now, poll, random).getTime()).toBeCloseTo(seconds * 1000, 3);
  });
});

describe('nextAttempt', () => {
  it.each([
    [1, null, 0.5, 15],
    [5, null, 0.5, 240],
    [9, null, 0.5, 3600],
    [32_000, null, 0.5, 3600],
    [1, 300, 0.5, 300],
    [1, 10, 0.5, 15],
    [1, 1e9, 0.5, 86_400],
  ])(
    'after %d failures, told %p seconds, random %d: %d s',
    (failures, retryAfter, random, seconds) => {
      expect(nextAttempt(now, failures, retryAfter, random).getTime()).toBeCloseTo(
        seconds * 1000,
        3,
      );
    },
  );
});

describe('watchWaitSeconds', () => {
  it.each([
    [1, null, 0, 5],
    [1, null, 1, 10],
    [4, null, 1, 80],
    [100, null, 1, 900],
    [1, 120, 0, 120],
  ])('after %d ends, told %p seconds, random %d: %d s', (failures, retryAfter, random, seconds) => {
    expect(watchWaitSeconds(failures, retryAfter, random)).toBe(seconds);
  });
});
