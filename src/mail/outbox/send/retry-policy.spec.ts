import { readFileSync } from 'node:fs';
import {
  PROVIDER_ERROR_CODES,
  type ProviderErrorCode,
} from '../../../platform/base/errors/provider-error.ts';
import { SEND_ROUTES } from '../../../job-statuses/job-status.ts';
import {
  backoffSeconds,
  decideLookUp,
  decideRetry,
  decideUnproven,
  isRelayDue,
  plannedAttempts,
  plannedAttemptsWithRelay,
  RETRY_RULES,
  type RetryInput,
  wantsRelay,
} from './retry-policy.ts';

const DAY = 86_400;
const now = new Date('2026-01-01T00:00:00Z');
const inSeconds = (seconds: number) => new Date(now.getTime() + seconds * 1000);
const secondsAfter = (at: Date) => (at.getTime() - now.getTime()) / 1000;
const input = (code: ProviderErrorCode, overrides: Partial<RetryInput> = {}): RetryInput => ({
  code,
  route: 'account',
  failures: 1,
  now,
  retryLimitAt: inSeconds(DAY),
  lastStartAt: inSeconds(DAY + 60),
  retryAfterSeconds: null,
  ownLimit: false,
  retryRejected: false,
  relayAvailable: false,
  random: 0.5,
  ...overrides,
});
const decide = (code: ProviderErrorCode, overrides: Partial<RetryInput> = {}) =>
  decideRetry(input(code, overrides));

/** Numbers that look random and are the same in every run. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield state / 2_147_483_648;
  }
}

describe('backoffSeconds', () => {
  it('doubles from 30 s and stays at an hour from the eighth failure on', () => {
    const seconds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100, 30_000].map(backoffSeconds);
    expect(seconds).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600]);
  });
});

describe('decideRetry', () => {
  /**
   * Decision for each code after a first and a fifth failure, without and with a mailing service.
   */
  const TABLE: Readonly<Record<ProviderErrorCode, readonly [string, string, string, string]>> = {
    'auth-invalid': [
      'stop auth-invalid',
      'stop auth-invalid',
      'stop auth-invalid',
      'stop auth-invalid',
    ],
    'quota-exhausted': [
      'retry backoff',
      'retry backoff',
      'switch daily-limit-to-relay',
      'switch daily-limit-to-relay',
    ],
    'rate-limited': [
      'retry backoff',
      'retry backoff',
      'retry backoff',
      'switch five-attempts-to-relay',
    ],
    temporary: ['retry backoff', 'retry backoff', 'retry backoff', 'switch five-attempts-to-relay'],
    'not-found': [
      'retry backoff',
      'retry backoff',
      'retry backoff',
      'switch five-attempts-to-relay',
    ],
    conflict: ['retry backoff', 'retry backoff', 'retry backoff', 'switch five-attempts-to-relay'],
    rejected: ['stop rejected', 'stop rejected', 'stop rejected', 'stop rejected'],
    unsupported: ['stop rejected', 'stop rejected', 'stop rejected', 'stop rejected'],
    'outcome-unknown': ['retry look-up', 'retry look-up', 'retry look-up', 'retry look-up'],
  };
  const outcome = (overrides: RetryInput) => {
    const { kind, rule } = decideRetry(overrides);
    return `${kind} ${rule}`;
  };

  it.each(PROVIDER_ERROR_CODES)(
    'follows the table for an attempt over the account that failed with %s',
    (code) => {
      expect([
        outcome(input(code)),
        outcome(input(code, { failures: 5 })),
        outcome(input(code, { relayAvailable: true })),
        outcome(input(code, { failures: 5, relayAvailable: true })),
      ]).toEqual(TABLE[code]);
    },
  );

  it.each(PROVIDER_ERROR_CODES)('never switches back from the mailing service after %s', (code) => {
    for (const failures of [1, 5, 50]) {
      const over = input(code, { route: 'relay', failures, relayAvailable: true });
      expect(decideRetry(over).kind).not.toBe('switch');
      expect(wantsRelay(over)).toBe(false);
    }
  });

  it('retries when the mailing service refuses its own credentials, which are not the account’s', () => {
    expect(decide('auth-invalid', { route: 'relay' })).toEqual({
      kind: 'retry',
      at: inSeconds(30),
      rule: 'backoff',
    });
  });

  it('asks for the mailing service exactly when the decision depends on it', () => {
    for (const code of PROVIDER_ERROR_CODES) {
      for (const route of SEND_ROUTES) {
        for (const failures of [1, 4, 5, 6, 40]) {
          for (const retryLimitAt of [inSeconds(-1), now, inSeconds(1), inSeconds(DAY)]) {
            for (const retryRejected of [true, false]) {
              const asked = input(code, { route, failures, retryLimitAt, retryRejected });
              const differs =
                JSON.stringify(decideRetry(asked)) !==
                JSON.stringify(decideRetry({ ...asked, relayAvailable: true }));
              expect([asked, wantsRelay(asked)]).toEqual([asked, differs]);
            }
          }
        }
      }
    }
  });

  it('switches to the mailing service after the fifth failed attempt, not before', () => {
    const kinds = [1, 2, 3, 4, 5, 6].map(
      (failures) => decide('temporary', { failures, relayAvailable: true }).kind,
    );
    expect(kinds).toEqual(['retry', 'retry', 'retry', 'retry', 'switch', 'switch']);
  });

  it('plans the attempts of a day: 8 with growing waits, then hourly ones, then one at the deadline', () => {
    const limit = inSeconds(DAY);
    let at = now;
    const rules: string[] = [];
    for (let failures = 1; failures < 100; failures += 1) {
      const decision = decide('temporary', { failures, now: at, retryLimitAt: limit });
      rules.push(decision.rule);
      if (decision.kind !== 'retry') break;
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
  ])('varies the wait by ten percent (random %p)', (random, seconds) => {
    const decision = decide('temporary', { random });
    expect(decision.kind === 'retry' && Math.round(secondsAfter(decision.at))).toBe(seconds);
  });

  it('makes no attempt after the deadline, the last one exactly at it, and varies the others by ten percent', () => {
    const random = numbers(7);
    for (let round = 0; round < 60; round += 1) {
      const limit = inSeconds(Math.floor(random.next().value * 7 * DAY));
      let at = now;
      for (let failures = 1; ; failures += 1) {
        const asked = random.next().value < 0.1 ? random.next().value * 10_000 : null;
        const decision = decide('temporary', {
          failures,
          now: at,
          retryLimitAt: limit,
          retryAfterSeconds: asked,
          random: random.next().value,
        });
        if (decision.kind !== 'retry') {
          expect(decision).toEqual({ kind: 'stop', rule: 'deadline' });
          expect(at).toEqual(limit);
          break;
        }
        const waited = (decision.at.getTime() - at.getTime()) / 1000;
        const base = backoffSeconds(failures);
        expect(decision.at.getTime()).toBeLessThanOrEqual(limit.getTime());
        if (decision.rule === 'last-attempt') expect(decision.at).toEqual(limit);
        else expect(waited).toBeGreaterThanOrEqual(base * 0.9 - 0.001);
        expect(waited).toBeLessThanOrEqual(Math.max(base * 1.1, asked ?? 0) + 0.001);
        at = decision.at;
      }
    }
  });

  it('never waits less after more failures', () => {
    for (const random of [0, 0.5, 0.99]) {
      const waits = Array.from({ length: 60 }, (_, index) => {
        const decision = decide('temporary', { failures: index + 1, random });
        return decision.kind === 'retry' ? secondsAfter(decision.at) : 0;
      });
      expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    }
  });

  it('retries a definite rejection if it is configured to', () => {
    expect(decide('rejected', { retryRejected: true })).toMatchObject({
      kind: 'retry',
      rule: 'backoff',
    });
    expect(decide('rejected', { retryRejected: true, failures: 5, relayAvailable: true })).toEqual({
      kind: 'switch',
      rule: 'five-attempts-to-relay',
    });
  });

  it('waits as long as the provider asks, but not beyond the deadline', () => {
    expect(decide('rate-limited', { retryAfterSeconds: 600 })).toEqual({
      kind: 'retry',
      at: inSeconds(600),
      rule: 'provider-asked',
    });
    expect(
      decide('rate-limited', { retryAfterSeconds: 600, retryLimitAt: inSeconds(100) }),
    ).toEqual({
      kind: 'retry',
      at: inSeconds(100),
      rule: 'last-attempt',
    });
  });

  it.each(SEND_ROUTES)('makes a single attempt if the deadline is the send time (%s)', (route) => {
    for (const code of ['temporary', 'quota-exhausted'] as const) {
      expect(decide(code, { route, failures: 5, retryLimitAt: now, relayAvailable: true })).toEqual(
        {
          kind: 'stop',
          rule: 'deadline',
        },
      );
    }
  });

  it('looks up an unknown outcome even after the deadline', () => {
    expect(decide('outcome-unknown', { failures: 9, retryLimitAt: now })).toEqual({
      kind: 'retry',
      at: inSeconds(15),
      rule: 'look-up',
    });
  });

  it('delays the look-up more each time the outcome is unknown again, because another send may follow', () => {
    const waits = [1, 2, 3, 9, 100].map((failures) => {
      const decision = decide('outcome-unknown', { failures });
      return decision.kind === 'retry' && secondsAfter(decision.at);
    });
    expect(waits).toEqual([15, 30, 60, 3600, 3600]);
  });
});

describe('decideLookUp', () => {
  it('repeats failing look-ups for a day beyond the deadline, then gives up', () => {
    const lookUp = (looked: number, retryLimitAt: Date) => decideLookUp(looked, now, retryLimitAt);
    expect(lookUp(1, inSeconds(60))).toEqual({ kind: 'retry', at: inSeconds(15), rule: 'look-up' });
    expect(lookUp(30, inSeconds(-DAY))).toEqual({
      kind: 'retry',
      at: inSeconds(3_600),
      rule: 'look-up',
    });
    expect(lookUp(30, inSeconds(-DAY - 1))).toEqual({ kind: 'stop', rule: 'unknown' });
  });
});

describe('a message at its deadline that our own limit kept from being tried', () => {
  const wait = (retryAfterSeconds: number, lastStart: number) =>
    decide('rate-limited', {
      retryLimitAt: now,
      lastStartAt: inSeconds(lastStart),
      ownLimit: true,
      retryAfterSeconds,
    });

  it('is tried when the limit allows it, but not later than any other that had to wait', () => {
    expect(wait(15, 3_660)).toEqual({ kind: 'retry', at: inSeconds(15), rule: 'own-limit' });
    expect(wait(9_000, 60)).toEqual({ kind: 'retry', at: inSeconds(60), rule: 'own-limit' });
    expect(wait(15, 0)).toEqual({ kind: 'stop', rule: 'deadline' });
  });

  it('ends if the provider was asked', () => {
    const asked = { retryLimitAt: now, lastStartAt: inSeconds(60) };
    expect(decide('rate-limited', asked)).toEqual({ kind: 'stop', rule: 'deadline' });
  });
});

describe('a message that waits for our own limit', () => {
  it('is never handed to the mailing service, even after five failed attempts', () => {
    const waiting = {
      failures: 5,
      relayAvailable: true,
      ownLimit: true,
      retryAfterSeconds: 15,
    };
    expect(wantsRelay(input('rate-limited', waiting))).toBe(false);
    expect(decide('rate-limited', waiting)).toEqual({
      kind: 'retry',
      at: inSeconds(15),
      rule: 'own-limit',
    });
  });
});

describe('decideUnproven', () => {
  const limit = inSeconds(DAY);

  it('schedules look-ups 15, 60 and 180 s after the outcome became unknown', () => {
    const first = decide('outcome-unknown');
    const second = decideUnproven(1, now, limit, 'resend');
    const third = decideUnproven(2, now, limit, 'resend');
    const waits = [first, second, third].map((decision) =>
      decision.kind === 'retry' ? secondsAfter(decision.at) : NaN,
    );
    expect(waits).toEqual([15, 60 - 15, 180 - 60]);
  });

  it('follows on_unknown after the third look-up', () => {
    expect(decideUnproven(3, now, limit, 'resend')).toEqual({ kind: 'resend', rule: 'resend' });
    expect(decideUnproven(3, now, limit, 'fail')).toEqual({ kind: 'stop', rule: 'unknown' });
  });

  it('sends nothing after the deadline, but still looks the message up', () => {
    expect(decideUnproven(1, now, now, 'resend')).toMatchObject({ kind: 'retry', rule: 'look-up' });
    expect(decideUnproven(3, now, now, 'resend')).toEqual({ kind: 'stop', rule: 'unknown' });
  });
});

describe('isRelayDue', () => {
  it('is true once the account has used up its five attempts', () => {
    expect([4, 5, 6].map((failures) => isRelayDue('account', failures))).toEqual([
      false,
      true,
      true,
    ]);
    expect(isRelayDue('relay', 9)).toBe(false);
  });
});

describe('plannedAttempts', () => {
  it('lists 31 attempts for a day, the last exactly at the deadline', () => {
    const planned = plannedAttempts(now, inSeconds(DAY), 1000);
    expect(planned.slice(0, 10).map((at) => secondsAfter(at) / 60)).toEqual([
      0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5, 123.5, 183.5,
    ]);
    expect(planned).toHaveLength(31);
    expect(planned.at(-1)).toEqual(inSeconds(DAY));
  });

  it('lists 175 attempts for a week, and no more than the given maximum', () => {
    expect(plannedAttempts(now, inSeconds(7 * DAY), 1000)).toHaveLength(175);
    expect(plannedAttempts(now, inSeconds(7 * DAY), 20)).toHaveLength(20);
    expect(plannedAttempts(now, inSeconds(DAY), 0)).toEqual([]);
  });

  it('lists a single attempt if the deadline is the send time or before it', () => {
    expect(plannedAttempts(now, now, 10)).toEqual([now]);
    expect(plannedAttempts(now, inSeconds(-5), 10)).toEqual([now]);
  });

  it('lists the same attempts as decideRetry decides', () => {
    const limit = inSeconds(3 * DAY);
    const made: Date[] = [now];
    for (let failures = 1; ; failures += 1) {
      const decision = decide('temporary', { failures, now: made.at(-1)!, retryLimitAt: limit });
      if (decision.kind !== 'retry') break;
      made.push(decision.at);
    }
    expect(plannedAttempts(now, limit, 1000)).toEqual(made);
  });

  it('switches to the mailing service at once after the fifth attempt, and restarts the schedule', () => {
    const planned = plannedAttemptsWithRelay(now, inSeconds(DAY), 9);
    expect(planned.map(({ at, route }) => [secondsAfter(at) / 60, route])).toEqual([
      [0, 'account'],
      [0.5, 'account'],
      [1.5, 'account'],
      [3.5, 'account'],
      [7.5, 'account'],
      [7.5, 'relay'],
      [8, 'relay'],
      [9, 'relay'],
      [11, 'relay'],
    ]);
    expect(plannedAttemptsWithRelay(now, inSeconds(DAY), 1000).at(-1)).toEqual({
      at: inSeconds(DAY),
      route: 'relay',
    });
  });

  it('lists no attempt over the mailing service if the deadline comes first', () => {
    const routes = plannedAttemptsWithRelay(now, inSeconds(300), 1000).map(({ route }) => route);
    expect(routes).toEqual(['account', 'account', 'account', 'account', 'account']);
  });
});

describe('docs/outbox-reference.md', () => {
  const page = readFileSync('docs/outbox-reference.md', 'utf8');
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  const clock = (at: Date | undefined) => {
    const seconds = at ? secondsAfter(at) : NaN;
    const digits = (value: number) => String(Math.floor(value) % 60).padStart(2, '0');
    return `${Math.floor(seconds / 3600)}:${digits(seconds / 60)}:${digits(seconds)}`;
  };

  it('lists the times that the policy computes', () => {
    const day = plannedAttempts(now, inSeconds(DAY), 1000);
    const week = plannedAttempts(now, inSeconds(7 * DAY), 1000);
    const table = rows.filter(([, attempt]) => /^\d+$/.test(attempt ?? ''));
    expect(table).toHaveLength(14);
    for (const [, attempt, inADay, inAWeek] of table) {
      const index = Number(attempt) - 1;
      expect([attempt, inADay, inAWeek]).toEqual([
        attempt,
        index < day.length ? clock(day[index]) : '–',
        clock(week[index]),
      ]);
    }
    expect([day.length, week.length]).toEqual([31, Number(table.at(-1)?.[1])]);
  });

  it('explains every rule', () => {
    const explained = rows.flatMap(([, first]) => /^`([a-z-]+)`$/.exec(first ?? '')?.[1] ?? []);
    expect(explained).toEqual(expect.arrayContaining([...RETRY_RULES]));
  });
});
