import {
  type AttemptTally,
  decideDelivery,
  type DeliveryAnswer,
  type DeliveryAttempt,
  FAILED_AFTER_MS,
  FAILING_AFTER_MS,
  healthAfter,
  isolationOf,
  RETRY_DELAYS_SECONDS,
  type WebhookHealth,
} from './delivery-policy.ts';
import { WEBHOOK_STATES, type WebhookState } from '../webhook-state.ts';

const now = new Date('2026-11-20T10:00:00Z');
const later = (ms: number) => new Date(now.getTime() + ms);
const HOUR = 3_600_000;

const answered = (status: number, retryAfterSeconds?: number): DeliveryAnswer => ({
  kind: 'answered',
  status,
  retryAfter: retryAfterSeconds === undefined ? null : later(retryAfterSeconds * 1000),
});
const decide = (overrides: Partial<DeliveryAttempt> = {}) =>
  decideDelivery({
    attempt: 1,
    events: 1,
    troubles: 0,
    answer: answered(500),
    now,
    giveUpAt: later(76 * HOUR),
    random: 0.5,
    ...overrides,
  });
/** Seconds until the next attempt. */
const pause = (overrides: Partial<DeliveryAttempt> = {}): number => {
  const decision = decide(overrides);
  if (decision.kind !== 'retry') throw new Error(`the decision was ${decision.kind}`);
  return Math.round((decision.at.getTime() - now.getTime()) / 1000);
};

describe('decideDelivery', () => {
  it.each([200, 201, 202, 204, 299])('treats status %d as delivered', (status) => {
    expect(decide({ answer: answered(status) })).toEqual({ kind: 'delivered' });
    // also if the response arrives late
    expect(decide({ answer: answered(status), attempt: 10, giveUpAt: now })).toEqual({
      kind: 'delivered',
    });
  });

  it.each([100, 199, 300, 302, 307, 400, 401, 404, 409, 429, 500, 502, 503, 599])(
    'retries after status %d',
    (status) => {
      expect(decide({ answer: answered(status) })).toMatchObject({
        kind: 'retry',
        at: later(5000),
        detail: expect.stringContaining(`answered ${status}`),
      });
    },
  );

  it('retries if there was no response, and gives the reason', () => {
    const decision = decide({
      answer: { kind: 'unanswered', why: 'no connection (ECONNREFUSED)' },
    });
    expect(decision).toEqual({
      kind: 'retry',
      at: later(5000),
      detail: 'no connection (ECONNREFUSED)',
      counts: true,
      pauseSeconds: null,
    });
  });

  it.each(RETRY_DELAYS_SECONDS.map((delay, index) => [index + 1, delay]))(
    'waits after failed attempt %d for %d s ± 20 %%',
    (attempt, delay) => {
      const giveUpAt = later(1000 * HOUR);
      expect(pause({ attempt, giveUpAt, random: 0 })).toBe(Math.round(delay * 0.8));
      expect(pause({ attempt, giveUpAt, random: 0.5 })).toBe(delay);
      expect(pause({ attempt, giveUpAt, random: 0.999999 })).toBe(Math.round(delay * 1.2));
    },
  );

  it('makes ten attempts, over more than the 72 hours after which a webhook has failed', () => {
    expect(RETRY_DELAYS_SECONDS).toHaveLength(9);
    expect(RETRY_DELAYS_SECONDS.reduce((sum, delay) => sum + delay, 0) * 1000).toBeGreaterThan(
      FAILED_AFTER_MS,
    );
    expect(decide({ attempt: 10 })).toMatchObject({ kind: 'dropped' });
    expect(decide({ attempt: 11 })).toMatchObject({ kind: 'dropped' });
  });

  it('makes the last attempt exactly at the end of the retry time', () => {
    expect(pause({ attempt: 9, giveUpAt: later(HOUR) })).toBe(3600);
    expect(decide({ attempt: 3, giveUpAt: now })).toMatchObject({ kind: 'dropped' });
    expect(decide({ attempt: 3, giveUpAt: later(1) })).toMatchObject({
      kind: 'retry',
      at: later(1),
    });
  });

  it.each([
    [429, 400, 400],
    [503, 1_000, 1_000],
    [429, 10, 300],
    [429, 100_000, 3_600],
    [503, -50, 300],
    [500, 400, 300],
    [302, 400, 300],
  ])(
    'after status %d with Retry-After %d s, waits %d s, at least the pause and at most an hour',
    (status, asked, expected) => {
      expect(pause({ attempt: 2, answer: answered(status, asked) })).toBe(expected);
    },
  );

  it.each([
    [429, 400, 400],
    [503, 100_000, 3_600],
    [503, -50, null],
    [500, 400, null],
  ])(
    'after status %d with Retry-After %d s, asks for no requests to the webhook for %s s',
    (status, asked, expected) => {
      expect(decide({ answer: answered(status, asked) })).toMatchObject({ pauseSeconds: expected });
    },
  );

  it.each([
    [1, 5, true],
    [2, 10, false],
    [3, 20, false],
    [6, 160, false],
    [7, 300, false],
    [500, 300, false],
  ])(
    'after %d troubles of the webhook in a row, waits %d s, and the attempt counts: %s',
    (troubles, seconds, counts) => {
      expect(pause({ troubles })).toBe(seconds);
      expect(decide({ troubles })).toMatchObject({ counts });
    },
  );

  it('does not use up the attempts while the webhook is in trouble as a whole', () => {
    expect(decide({ attempt: 11, troubles: 2 })).toMatchObject({ kind: 'retry' });
  });

  it('makes a request smaller that the receiver finds too large, unless it has one event', () => {
    expect(decide({ answer: answered(413), events: 2 })).toMatchObject({ kind: 'too_large' });
    expect(decide({ answer: answered(413), events: 1 })).toMatchObject({ kind: 'retry' });
  });

  it('does not let Retry-After exceed the end of the retry time', () => {
    expect(pause({ attempt: 2, answer: answered(429, 500), giveUpAt: later(350_000) })).toBe(350);
  });

  it('stops the webhook if the receiver answers 410', () => {
    expect(decide({ answer: answered(410) })).toMatchObject({ kind: 'gone' });
  });
});

describe('isolationOf', () => {
  it.each([
    [100, 1, 0, { kind: 'keep' }],
    [100, 2, 0, { kind: 'cut', to: 10 }],
    [10, 3, 0, { kind: 'cut', to: 1 }],
    [1, 3, 0, { kind: 'keep' }],
    [1, 4, 0, { kind: 'set aside' }],
    // Nothing succeeded since the last attempt, so the receiver may be the cause.
    [100, 4, 1, { kind: 'keep' }],
    [1, 9, 1, { kind: 'keep' }],
  ])(
    'of %d events after attempt %d and %d troubles is %j',
    (events, attempt, troubles, expected) => {
      expect(isolationOf(events, attempt, troubles)).toEqual(expected);
    },
  );
});

describe('healthAfter', () => {
  const healthy: WebhookHealth = { state: 'active', failingSince: null, failures: 0 };
  const since = (ms: number, state: WebhookState): WebhookHealth => ({
    state,
    failingSince: later(-ms),
    failures: 3,
  });
  const none: AttemptTally = { delivered: 0, failed: 0, gone: false };
  const failed: AttemptTally = { delivered: 0, failed: 2, gone: false };
  const delivered: AttemptTally = { delivered: 1, failed: 5, gone: false };
  const gone: AttemptTally = { delivered: 0, failed: 1, gone: true };

  it('starts counting at the first failure', () => {
    expect(healthAfter(healthy, failed, now)).toEqual({
      state: 'active',
      failingSince: now,
      failures: 2,
    });
  });

  it.each<[WebhookState, number, WebhookState]>([
    ['active', FAILING_AFTER_MS - 1, 'active'],
    ['active', FAILING_AFTER_MS, 'failing'],
    ['active', FAILED_AFTER_MS * 2, 'failing'],
    ['failing', FAILED_AFTER_MS - 1, 'failing'],
    ['failing', FAILED_AFTER_MS, 'failed'],
    ['failed', FAILED_AFTER_MS * 2, 'failed'],
    ['inactive', FAILED_AFTER_MS * 2, 'inactive'],
  ])('turns a webhook that is %s and has failed for %d ms into %s', (state, ms, expected) => {
    expect(healthAfter(since(ms, state), failed, now)).toEqual({
      state: expected,
      failingSince: later(-ms),
      failures: 5,
    });
  });

  it.each<[WebhookState, WebhookState]>([
    ['active', 'active'],
    ['failing', 'active'],
    ['failed', 'failed'],
    ['inactive', 'inactive'],
  ])(
    'clears the failures of a webhook that is %s after one success and makes it %s',
    (state, expected) => {
      expect(healthAfter(since(FAILED_AFTER_MS, state), delivered, now)).toEqual({
        state: expected,
        failingSince: null,
        failures: 0,
      });
    },
  );

  it.each<[WebhookState, WebhookState]>([
    ['active', 'failed'],
    ['failing', 'failed'],
    ['failed', 'failed'],
    ['inactive', 'inactive'],
  ])('turns a webhook that is %s into %s after a 410', (state, expected) => {
    expect(healthAfter({ ...healthy, state }, gone, now)).toMatchObject({
      state: expected,
      failures: 1,
    });
  });

  it.each(WEBHOOK_STATES)(
    'changes nothing for a webhook that is %s if nothing was attempted',
    (state) => {
      const health = since(FAILED_AFTER_MS, state);
      expect(healthAfter(health, none, now)).toEqual(health);
    },
  );
});
