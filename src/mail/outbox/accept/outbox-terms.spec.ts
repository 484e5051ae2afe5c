import { DEFAULT_MAX_LATENESS_SECONDS, resolveChoices, resolveTimes } from './outbox-terms.ts';

const now = new Date('2026-01-01T00:00:00.400Z');
const second = Math.floor(now.getTime() / 1000);
const at = (seconds: number) => new Date(seconds * 1000);
const none = { sendAt: undefined, retryLimit: undefined };

describe('resolveTimes', () => {
  it.each([undefined, 0])('treats a send_at of %p as now', (sendAt) => {
    expect(resolveTimes({ ...none, sendAt }, now)).toEqual({
      sendAt: now,
      retryLimitAt: new Date(now.getTime() + 86_400_000),
    });
  });

  it('treats a send_at up to a minute in the past as now and refuses an older one', () => {
    expect(resolveTimes({ ...none, sendAt: second - 59 }, now).sendAt).toEqual(now);
    expect(() => resolveTimes({ ...none, sendAt: second - 61 }, now)).toThrow(
      'send_at: must not be in the past',
    );
  });

  it('sets no retry limit after the year 9999', () => {
    const last = 253_402_300_799;
    expect(resolveTimes({ ...none, sendAt: last - 10 }, now)).toEqual({
      sendAt: at(last - 10),
      retryLimitAt: at(last),
    });
  });

  it('plans a single attempt for a retry limit of 0', () => {
    const times = resolveTimes({ sendAt: second + 10, retryLimit: 0 }, now);
    expect(times.retryLimitAt).toEqual(new Date(times.sendAt.getTime() - 1));
  });

  it('accepts a retry limit in the second of an immediate send', () => {
    expect(resolveTimes({ sendAt: undefined, retryLimit: second }, now)).toEqual({
      sendAt: now,
      retryLimitAt: now,
    });
  });

  it('refuses a retry limit before the send time or more than seven days after it', () => {
    expect(() => resolveTimes({ sendAt: second + 10, retryLimit: second + 9 }, now)).toThrow(
      'retry_limit_datetime',
    );
    expect(() =>
      resolveTimes({ sendAt: second + 10, retryLimit: second + 10 + 604_801 }, now),
    ).toThrow('7 days');
    expect(
      resolveTimes({ sendAt: second + 10, retryLimit: second + 10 + 604_800 }, now).retryLimitAt,
    ).toEqual(at(second + 10 + 604_800));
  });

  it('keeps the stored instants on an edit that repeats their seconds, even if they have passed', () => {
    const current = {
      sendAt: new Date((second - 3600) * 1000 + 400),
      retryLimitAt: new Date((second - 60) * 1000 + 400),
    };
    const same = { sendAt: second - 3600, retryLimit: second - 60 };
    expect(resolveTimes(same, now, current)).toEqual(current);
    expect(() => resolveTimes({ ...same, sendAt: second - 3601 }, now, current)).toThrow(
      'send_at: must not be in the past',
    );
    expect(() => resolveTimes({ ...same, retryLimit: second - 59 }, now, current)).toThrow(
      'retry_limit_datetime: must not be in the past',
    );
  });

  it('keeps both times on an edit that names neither, and resets the retry limit with a new send time', () => {
    const current = { sendAt: at(second + 100), retryLimitAt: at(second + 200) };
    expect(resolveTimes(none, now, current)).toEqual(current);
    expect(resolveTimes({ ...none, sendAt: second + 500 }, now, current)).toEqual({
      sendAt: at(second + 500),
      retryLimitAt: at(second + 500 + 86_400),
    });
    expect(resolveTimes({ ...none, retryLimit: second + 150 }, now, current)).toEqual({
      sendAt: current.sendAt,
      retryLimitAt: at(second + 150),
    });
  });
});

describe('resolveChoices', () => {
  const none = { onMissed: undefined, maxLatenessSeconds: undefined, onUnknown: undefined };

  it('sends late messages and leaves unknown outcomes to the server by default', () => {
    expect(resolveChoices(none)).toEqual({
      onMissed: 'send',
      maxLatenessSeconds: null,
      onUnknown: null,
    });
  });

  it('allows a minute of lateness by default with skip, and accepts 0', () => {
    expect(resolveChoices({ ...none, onMissed: 'skip' }).maxLatenessSeconds).toBe(
      DEFAULT_MAX_LATENESS_SECONDS,
    );
    expect(
      resolveChoices({ ...none, onMissed: 'skip', maxLatenessSeconds: 0 }).maxLatenessSeconds,
    ).toBe(0);
  });

  it('refuses a lateness without skip, also when the edit itself removes skip', () => {
    const message = 'max_lateness_seconds: only allowed with on_missed "skip"';
    const current = { onMissed: 'skip', maxLatenessSeconds: 5, onUnknown: null } as const;
    expect(() => resolveChoices({ ...none, maxLatenessSeconds: 5 })).toThrow(message);
    expect(() =>
      resolveChoices({ ...none, onMissed: 'send', maxLatenessSeconds: 5 }, current),
    ).toThrow(message);
  });

  it('keeps choices that an edit does not name, and drops the lateness together with skip', () => {
    const current = { onMissed: 'skip', maxLatenessSeconds: 5, onUnknown: 'fail' } as const;
    expect(resolveChoices(none, current)).toEqual(current);
    expect(resolveChoices({ ...none, maxLatenessSeconds: 7 }, current)).toEqual({
      ...current,
      maxLatenessSeconds: 7,
    });
    expect(resolveChoices({ ...none, onMissed: 'send', onUnknown: 'resend' }, current)).toEqual({
      onMissed: 'send',
      maxLatenessSeconds: null,
      onUnknown: 'resend',
    });
  });
});
