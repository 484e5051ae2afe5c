import { ClaimPace } from './claim-pace.ts';
import { type ClaimSummary, MOST_PER_CLAIM } from './claim-statement.ts';

/** Longer than the test takes. */
const EVERY_MS = 60_000;
const ONE_ROW: ClaimSummary = {
  seen: 1,
  parked: 0,
  lowestMs: 0,
  nextMs: null,
  passedOver: false,
  late: null,
};

describe('the pace of claims', () => {
  const pace = () => new ClaimPace({ slots: 2 * MOST_PER_CLAIM, claimEveryMs: EVERY_MS });

  it('waits after a claim that took all due rows', () => {
    const calm = pace();
    calm.end(calm.begin(MOST_PER_CLAIM), ONE_ROW, false);
    expect(calm.leftMs(MOST_PER_CLAIM)).toBeGreaterThan(0);
  });

  it('does not wait after a claim that took as many rows as any claim can', () => {
    const busy = pace();
    busy.end(busy.begin(MOST_PER_CLAIM), { ...ONE_ROW, seen: MOST_PER_CLAIM }, true);
    expect(busy.leftMs(MOST_PER_CLAIM)).toBeLessThanOrEqual(0);
  });

  it('waits after a claim that filled only the few slots that were free', () => {
    const full = pace();
    full.end(full.begin(2), { ...ONE_ROW, seen: 2 }, true);
    expect(full.leftMs(MOST_PER_CLAIM)).toBeGreaterThan(0);
  });
});
