import {
  nextAttempt,
  nextPoll,
  nextPollTogether,
  pollInterval,
  secondsToLookAgain,
  watchWaitSeconds,
} from './sync-policy.ts';

const now = new Date(0);

describe('nextPoll', () => {
  it.each([
    [60, 0.5, 60],
    [60, 0, 54],
    [900, 1, 990],
  ])('with an interval of %d s and random %d, polls again after %d s', (poll, random, seconds) => {
    expect(nextPoll(now, poll, random).getTime()).toBeCloseTo(seconds * 1000, 3);
  });
});

describe('nextPollTogether', () => {
  it('is a whole second, so that polls of the same second are claimed together', () => {
    const at = nextPollTogether(new Date(300), 60, 0.5);
    expect(at).toEqual(new Date(60_000));
  });
});

describe('pollInterval', () => {
  const HOUR_MS = 3_600_000;
  it.each([
    [60, 3, 0, 60],
    [60, 3, HOUR_MS / 6, 60],
    [60, 3, HOUR_MS / 4, 90],
    [60, 3, HOUR_MS / 2, 180],
    [60, 3, 24 * HOUR_MS, 180],
    [60, 1, 24 * HOUR_MS, 60],
    [300, 3, HOUR_MS, 360],
    [300, 3, 24 * HOUR_MS, 900],
    // The clock of another process may be ahead.
    [60, 3, -5_000, 60],
  ])(
    'of at least %d s with factor %d, for an account that has not changed for %d ms, is %d s',
    (shortest, factor, quietMs, seconds) => {
      expect(pollInterval(shortest, factor, quietMs)).toBe(seconds);
    },
  );
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
    'after %d failures, with Retry-After %p and random %d, waits %d s',
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
  ])(
    'after %d ends, with Retry-After %p and random %d, waits %d s',
    (failures, retryAfter, random, seconds) => {
      expect(watchWaitSeconds(failures, retryAfter, random)).toBe(seconds);
    },
  );
});

describe('secondsToLookAgain', () => {
  it.each([
    [0, 5],
    [4_000, 1],
    [5_000, 25],
    [29_000, 1],
    [30_000, null],
    [3_600_000, null],
  ])('%d ms after a pass was requested, the next look follows in %s s', (quietMs, seconds) => {
    expect(secondsToLookAgain(quietMs)).toBe(seconds);
  });
});
