import { PROVIDER_ERROR_CODES } from '../../../platform/base/errors/provider-error.ts';
import {
  decideReminder,
  deliveryOfHttpStatus,
  deliveryOfProviderError,
  nextReminderAttempt,
  nextReminderLookUp,
  type ReminderDelivery,
} from './reminder-policy.ts';

const now = new Date('2026-01-01T10:00:00Z');
const after = (seconds: number) => new Date(now.getTime() + seconds * 1000);
const secondsUntil = (at: Date | null) => at && (at.getTime() - now.getTime()) / 1000;

describe('another look-up of a reminder', () => {
  it.each([
    [1, 45],
    [2, 120],
    [3, null],
  ])('after %i look-ups waits %p seconds', (lookUps, seconds) => {
    expect(secondsUntil(nextReminderLookUp(lookUps, now, after(3_600)))).toBe(seconds);
  });

  it('is not made if it would leave no time before the event', () => {
    expect(nextReminderLookUp(1, now, after(54))).toBeNull();
    expect(secondsUntil(nextReminderLookUp(1, now, after(55)))).toBe(45);
  });
});

describe('next attempt of a reminder', () => {
  it.each([
    [1, 30],
    [2, 60],
    [3, 120],
    [7, 1920],
    [8, 3600],
    [500, 3600],
  ])('after %i attempts waits %i seconds', (attempts, seconds) => {
    expect(secondsUntil(nextReminderAttempt(attempts, now, after(86_400)))).toBe(seconds);
  });

  it('waits at least as long as the receiver requested', () => {
    expect(secondsUntil(nextReminderAttempt(1, now, after(86_400), 100))).toBe(100);
    expect(secondsUntil(nextReminderAttempt(1, now, after(86_400), 3))).toBe(30);
  });

  it('is moved forward to a last attempt shortly before the event', () => {
    expect(secondsUntil(nextReminderAttempt(1, now, after(35)))).toBe(25);
    expect(secondsUntil(nextReminderAttempt(9, now, after(100)))).toBe(90);
    expect(secondsUntil(nextReminderAttempt(1, now, after(60), 3_000))).toBe(50);
  });

  it('is made as soon as our own limit on requests allows it', () => {
    const delivery = {
      kind: 'not-yet',
      reason: 'waiting',
      retryAfterSeconds: 7,
      ownLimit: true,
    } as const;
    const known = { attempts: 9, lookUps: 0, now, expiresAt: after(3_600) };
    const decided = decideReminder({ ...known, delivery });
    expect(decided).toMatchObject({ kind: 'retry', at: after(7) });
    const soon = { ...delivery, retryAfterSeconds: 1 };
    expect(decideReminder({ ...known, delivery: soon })).toMatchObject({ kind: 'retry' });
  });

  it('is not made if there is no time left', () => {
    expect(nextReminderAttempt(1, now, after(14))).toBeNull();
    expect(nextReminderAttempt(1, now, after(0))).toBeNull();
    expect(nextReminderAttempt(1, now, after(-60))).toBeNull();
  });
});

describe('decision after an attempt', () => {
  const decide = (delivery: ReminderDelivery, expiresIn = 3_600, lookUps = 0) =>
    decideReminder({ delivery, attempts: 1, lookUps, now, expiresAt: after(expiresIn) });

  it('marks a delivered reminder as sent', () => {
    expect(decide({ kind: 'sent' }, -5)).toEqual({ kind: 'sent' });
  });

  it('fails at once with the reason of a refusal', () => {
    expect(decide({ kind: 'refused', reason: '550 no such user' })).toEqual({
      kind: 'failed',
      reason: '550 no such user',
      credentialsInvalid: false,
    });
  });

  it('retries while there is time', () => {
    expect(decide({ kind: 'not-yet', reason: '451 later' })).toEqual({
      kind: 'retry',
      at: after(30),
      reason: 'not sent yet: 451 later',
      ambiguous: false,
      lookUps: 0,
    });
  });

  it('fails with the last error if there is no time left', () => {
    expect(decide({ kind: 'not-yet', reason: '451 later' }, 8)).toEqual({
      kind: 'failed',
      reason: 'the event began before it could be sent; last error: 451 later',
      credentialsInvalid: false,
    });
  });

  it('looks up an unknown outcome, even after the event has begun', () => {
    const retry = { kind: 'retry', at: after(15), ambiguous: true, lookUps: 0 };
    expect(decide({ kind: 'unknown', reason: 'cut' }, 3_600, 2)).toMatchObject(retry);
    expect(decide({ kind: 'unknown', reason: 'cut' }, -5)).toMatchObject(retry);
  });

  it('repeats a look-up that failed, without counting it, until the event has begun', () => {
    const failed = { kind: 'look-up-failed', reason: 'cut' } as const;
    expect(decide(failed, 3_600, 2)).toMatchObject({ kind: 'retry', at: after(15), lookUps: 2 });
    expect(decide(failed, -5)).toMatchObject({
      kind: 'failed',
      reason: 'it is unknown whether it was sent: cut',
    });
  });
});

describe('result of an attempt', () => {
  it.each(PROVIDER_ERROR_CODES.map((code) => [code]))(
    "maps the mail provider's error %s to one kind of delivery",
    (code) => {
      const kinds: Record<string, string> = {
        'auth-invalid': 'refused',
        rejected: 'refused',
        'not-found': 'refused',
        unsupported: 'refused',
        'outcome-unknown': 'unknown',
      };
      const delivery = deliveryOfProviderError(code, 'words', 7);
      expect(delivery).toMatchObject({ kind: kinds[code] ?? 'not-yet', reason: 'words' });
      expect(delivery).toHaveProperty(
        ...((delivery.kind === 'refused'
          ? ['credentialsInvalid', code === 'auth-invalid']
          : delivery.kind === 'not-yet'
            ? ['retryAfterSeconds', 7]
            : ['kind', 'unknown']) as [string, unknown]),
      );
    },
  );

  it.each([
    [200, 'sent'],
    [204, 'sent'],
    [302, 'not-yet'],
    [404, 'not-yet'],
    [410, 'refused'],
    [429, 'not-yet'],
    [500, 'not-yet'],
  ])("maps the receiver's HTTP status %i to %s", (status, kind) => {
    expect(deliveryOfHttpStatus(status, null).kind).toBe(kind);
  });
});
