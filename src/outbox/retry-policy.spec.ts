import type { ProviderErrorCode } from '../providers/provider-error.ts';
import { backoffSeconds, decideLookUp, decideRetry, type RetryInput } from './retry-policy.ts';

const now = new Date('2026-01-01T00:00:00Z');
const inSeconds = (seconds: number) => new Date(now.getTime() + seconds * 1000);
const decide = (code: ProviderErrorCode, overrides: Partial<RetryInput> = {}) =>
  decideRetry({
    code,
    failures: 1,
    now,
    retryLimitAt: inSeconds(86_400),
    retryAfterSeconds: null,
    retryRejected: false,
    random: 0.5,
    ...overrides,
  });

describe('backoffSeconds', () => {
  it('doubles from 30 s and is hourly from the eighth failure on', () => {
    const seconds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100].map(backoffSeconds);
    expect(seconds).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
  });
});

describe('decideRetry', () => {
  it('makes the attempts of a day: 8 growing, then hourly, then one at the deadline', () => {
    const limit = inSeconds(86_400);
    let at = now;
    const rules: string[] = [];
    for (let failures = 1; failures < 100; failures += 1) {
      const decision = decide('temporary', { failures, now: at, retryLimitAt: limit });
      rules.push(decision.rule);
      if (decision.kind === 'stop') break;
      at = decision.at;
    }
    expect(rules.filter((rule) => rule === 'backoff')).toHaveLength(7);
    expect(rules.filter((rule) => rule === 'hourly')).toHaveLength(22);
    expect(rules.slice(-2)).toEqual(['last-attempt', 'deadline']);
    expect(at).toEqual(limit);
  });

  it.each([
    [0, 27],
    [0.5, 30],
    [0.999_999, 33],
  ])('spreads by ten percent (random %p)', (random, seconds) => {
    const decision = decide('temporary', { random });
    expect(decision.kind === 'retry' && Math.round((decision.at.getTime() - now.getTime()) / 1000)).toBe(
      seconds,
    );
  });

  it('stops at once when the credentials are invalid', () => {
    expect(decide('auth-invalid')).toEqual({ kind: 'stop', rule: 'auth-invalid' });
  });

  it('stops at once on a definite rejection, unless told to retry those too', () => {
    expect(decide('rejected')).toEqual({ kind: 'stop', rule: 'rejected' });
    expect(decide('rejected', { retryRejected: true })).toMatchObject({ kind: 'retry', rule: 'backoff' });
  });

  it('keeps the schedule on an exhausted daily quota', () => {
    expect(decide('quota-exhausted')).toEqual({ kind: 'retry', at: inSeconds(30), rule: 'backoff' });
  });

  it('waits as long as the provider asks, but not beyond the deadline', () => {
    expect(decide('rate-limited', { retryAfterSeconds: 600 })).toEqual({
      kind: 'retry',
      at: inSeconds(600),
      rule: 'provider-asked',
    });
    expect(decide('rate-limited', { retryAfterSeconds: 600, retryLimitAt: inSeconds(100) })).toEqual({
      kind: 'retry',
      at: inSeconds(100),
      rule: 'last-attempt',
    });
  });

  it('makes a single attempt when the deadline is the send time', () => {
    expect(decide('temporary', { retryLimitAt: now })).toEqual({ kind: 'stop', rule: 'deadline' });
  });

  it('looks up a doubtful send even after the deadline', () => {
    expect(decide('outcome-unknown', { retryLimitAt: now })).toEqual({
      kind: 'retry',
      at: inSeconds(15),
      rule: 'look-up',
    });
  });

  it('looks later each time the outcome is unknown again: what follows may be another send', () => {
    const waits = [1, 2, 3, 9, 100].map((failures) => {
      const decision = decide('outcome-unknown', { failures });
      return decision.kind === 'retry' && (decision.at.getTime() - now.getTime()) / 1000;
    });
    expect(waits).toEqual([15, 30, 60, 3600, 3600]);
  });
});

describe('decideLookUp', () => {
  it('keeps a doubt open that cannot be looked into, for a day beyond the deadline', () => {
    const look = (failures: number, retryLimitAt: Date) => decideLookUp({ failures, now, retryLimitAt });
    expect(look(1, inSeconds(60))).toEqual({ kind: 'retry', at: inSeconds(15), rule: 'look-up' });
    expect(look(30, inSeconds(-86_400))).toEqual({ kind: 'retry', at: inSeconds(3_600), rule: 'look-up' });
    expect(look(30, inSeconds(-86_401))).toEqual({ kind: 'stop', rule: 'look-up' });
  });
});
