import { DEFAULT_MAX_LATENESS_SECONDS, resolveChoices } from './outbox-choices.ts';

const none = { onMissed: undefined, maxLatenessSeconds: undefined, onUnknown: undefined };

describe('resolveChoices', () => {
  it('sends late and leaves doubts to the server unless told otherwise', () => {
    expect(resolveChoices(none)).toEqual({ onMissed: 'send', maxLatenessSeconds: null, onUnknown: null });
  });

  it('allows a minute of lateness where skip names none, and 0 where it does', () => {
    expect(resolveChoices({ ...none, onMissed: 'skip' }).maxLatenessSeconds).toBe(
      DEFAULT_MAX_LATENESS_SECONDS,
    );
    expect(resolveChoices({ ...none, onMissed: 'skip', maxLatenessSeconds: 0 }).maxLatenessSeconds).toBe(0);
  });

  it('refuses a lateness without skip, also where it is the edit that takes skip away', () => {
    const message = 'max_lateness_seconds: goes with on_missed "skip" only';
    const current = { onMissed: 'skip', maxLatenessSeconds: 5, onUnknown: null } as const;
    expect(() => resolveChoices({ ...none, maxLatenessSeconds: 5 })).toThrow(message);
    expect(() => resolveChoices({ ...none, onMissed: 'send', maxLatenessSeconds: 5 }, current)).toThrow(
      message,
    );
  });

  it('keeps what an edit does not name, and forgets the lateness with skip', () => {
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
