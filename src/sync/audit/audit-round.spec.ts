import { firstAudits } from './audit-round.ts';

const now = new Date(0);
const intervals = { seconds: 3_600, fullDays: 7 };

describe('firstAudits', () => {
  it('begins at once when a mirror has just become complete', () => {
    const at = { recentAt: now, fullAt: now, collectionsAt: now };
    expect(firstAudits(now, false, intervals)).toEqual(at);
  });

  it('spreads the audits of 10,000 accounts evenly over the interval if they had mirrors before', () => {
    const all = Array.from({ length: 10_000 }, () => firstAudits(now, true, intervals));
    for (const [name, seconds] of [
      ['recentAt', 3_600],
      ['fullAt', 7 * 86_400],
      ['collectionsAt', 7 * 86_400],
    ] as const) {
      const tenths = all.map((one) => Math.floor(one[name].getTime() / (seconds * 100)));
      const counts = Array.from({ length: 10 }, (_, n) => tenths.filter((at) => at === n).length);
      // Ten standard deviations around the mean.
      for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(300);
    }
  });
});
