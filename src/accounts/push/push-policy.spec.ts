import { nextAttemptAt, renewalAt } from './push-policy.ts';

describe('when subscriptions are renewed and retried', () => {
  const now = new Date('2026-01-01T00:00:00Z');
  const secondsUntil = (at: Date) => (at.getTime() - now.getTime()) / 1000;
  const after = (
    failures: number,
    code: 'temporary' | 'rate-limited' | 'unsupported' = 'temporary',
    retryAfterSeconds: number | null = null,
  ) => secondsUntil(nextAttemptAt(now, failures, { code, retryAfterSeconds }, 0.5));

  it('renews after half of the life, ±10 %', () => {
    const end = new Date(now.getTime() + 100_000_000);
    expect([0, 0.5, 1].map((random) => secondsUntil(renewalAt(now, end, random)))).toEqual([
      45_000, 50_000, 55_000,
    ]);
    expect(secondsUntil(renewalAt(now, new Date(now.getTime() - 1), 0.5))).toBe(0);
  });

  it('retries after 30 s, then after twice as long each time, up to an hour', () => {
    expect([1, 2, 3, 100].map((failures) => after(failures))).toEqual([30, 60, 120, 3_600]);
  });

  it('asks again after a day if the provider does not report changes', () => {
    expect(after(1, 'unsupported')).toBe(86_400);
  });

  it('respects a longer wait that the provider asks for, up to a day', () => {
    expect(after(1, 'rate-limited', 900)).toBe(900);
    expect(after(1, 'rate-limited', 5)).toBe(30);
    expect(after(1, 'rate-limited', 1_000_000)).toBe(86_400);
  });
});
