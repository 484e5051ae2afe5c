import { CALENDAR_PAUSES, UseLimits } from './google-use-limits.ts';

describe('UseLimits', () => {
  const HOUR = 3_600_000;

  it('waits for minutes and then for hours while Google goes on to refuse writes', () => {
    const limits = new UseLimits(CALENDAR_PAUSES);
    let now = 0;
    const waits = [1, 2, 3, 4, 5, 6].map(() => {
      const seconds = limits.refused('a', now);
      now += seconds * 1000;
      return seconds;
    });
    expect(waits).toEqual([600, 1_800, 3_600, 10_800, 21_600, 21_600]);
    expect(limits.refused('b', now)).toBe(600);
  });

  it('begins anew after a write that Google has accepted, and after a long time', () => {
    const limits = new UseLimits(CALENDAR_PAUSES);
    limits.refused('a', 0);
    limits.accepted('a');
    expect(limits.refused('a', 0)).toBe(600);
    expect(limits.refused('a', 7 * HOUR)).toBe(600);
  });

  it('goes on with a pause when requests that began before it are refused, too', () => {
    const limits = new UseLimits(CALENDAR_PAUSES);
    expect(limits.refused('a', 0)).toBe(600);
    expect(limits.refused('a', 0)).toBe(600);
    expect(limits.refused('a', 60_500)).toBe(540);
    expect(limits.refused('a', 600_000)).toBe(1_800);
  });
});
