import { decideAfterFailure, MOST_ATTEMPTS } from './provider-write-policy.ts';

const NOW = new Date('2026-11-20T12:00:00Z');
const failure = (
  code: Parameters<typeof decideAfterFailure>[0]['code'],
  retryAfterSeconds: number | null = null,
) => ({
  code,
  message: 'the words of the provider',
  retryAfterSeconds,
});
const seconds = (attempt: number, random = 0.5, retryAfter: number | null = null): number => {
  const verdict = decideAfterFailure(failure('temporary', retryAfter), attempt, NOW, random);
  if (verdict.kind !== 'again') throw new Error(`not tried again: ${verdict.reason}`);
  return (verdict.at.getTime() - NOW.getTime()) / 1000;
};

describe('decideAfterFailure', () => {
  it('doubles the interval from 30 seconds up to an hour', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8, 9, 19].map((attempt) => seconds(attempt))).toEqual([
      30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600,
    ]);
  });

  it('varies the intervals by ten per cent', () => {
    expect(seconds(1, 0)).toBeCloseTo(27);
    expect(seconds(1, 1)).toBeCloseTo(33);
  });

  it('retries no sooner than the provider asks', () => {
    expect(seconds(1, 0.5, 90)).toBe(90);
    expect(seconds(3, 0.5, 90)).toBe(120);
  });

  it.each(['auth-invalid', 'rejected', 'unsupported', 'not-found', 'conflict'] as const)(
    'fails at once on %s',
    (code) =>
      expect(decideAfterFailure(failure(code), 1, NOW, 0.5)).toMatchObject({
        kind: 'failed',
        reason: 'the words of the provider',
      }),
  );

  it.each(['temporary', 'rate-limited', 'quota-exhausted', 'outcome-unknown'] as const)(
    'tries again: %s',
    (code) => expect(decideAfterFailure(failure(code), 1, NOW, 0.5).kind).toBe('again'),
  );

  it('goes on as soon as our own limit on requests allows it, after any number of attempts', () => {
    const waiting = { ...failure('rate-limited', 3), ownLimit: true };
    for (const attempt of [1, MOST_ATTEMPTS + 1])
      expect(decideAfterFailure(waiting, attempt, NOW, 0.5)).toEqual({
        kind: 'again',
        at: new Date(NOW.getTime() + 3_000),
        reason: 'the words of the provider',
        rule: 'own limit',
      });
  });

  it('gives up after the last attempt', () => {
    expect(decideAfterFailure(failure('temporary'), MOST_ATTEMPTS - 1, NOW, 0.5).kind).toBe(
      'again',
    );
    expect(decideAfterFailure(failure('temporary'), MOST_ATTEMPTS, NOW, 0.5)).toMatchObject({
      kind: 'failed',
      reason: 'Given up after 20 attempts: the words of the provider',
    });
  });
});
