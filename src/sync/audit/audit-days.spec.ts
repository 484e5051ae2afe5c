import type { AuditRound } from '../../accounts/sync-schedule/mirror-audit.entity.ts';
import { daysOfRound, firstShownDay } from './audit-days.ts';

const round = (more: Partial<AuditRound>): AuditRound => ({
  kind: 'recent',
  beganAt: '2026-11-28T10:00:00.000Z',
  since: '2026-11-21T10:00:00.000Z',
  wholeSince: null,
  whole: [],
  folders: [],
  surplusFolders: [],
  cursor: null,
  folderBeganAt: null,
  checked: 0,
  found: 3,
  repaired: 1,
  missing: 0,
  surplus: 0,
  misplaced: 0,
  skipped: 4,
  counted: {},
  ...more,
});

describe('daysOfRound', () => {
  it('begins with the first day that the audit has compared completely, and shows seven', () => {
    expect(daysOfRound(round({}))).toEqual({
      days: {
        firstDay: '2026-11-22',
        beganAt: new Date('2026-11-28T10:00:00Z'),
        skipped: 4,
        unrepaired: 2,
      },
      firstShown: '2026-11-22',
    });
  });

  it.each([
    ['recent', '2026-11-26T00:00:00.000Z', null, '2026-11-26'],
    ['recent', '2026-11-26T00:00:00.001Z', null, '2026-11-27'],
    ['recent', '2026-11-28T09:00:00.000Z', null, '2026-11-29'],
    ['full', '2026-11-26T00:00:00.001Z', null, '2026-11-22'],
    ['full', '2026-11-26T00:00:00.001Z', '2026-11-24T01:00:00.000Z', '2026-11-25'],
  ] as const)('of a %s audit since %s with the horizon %s begins on %s', (...given) => {
    const [kind, since, wholeSince, first] = given;
    expect(daysOfRound(round({ kind, since, wholeSince })).days.firstDay).toBe(first);
  });
});

describe('firstShownDay', () => {
  it('counts today', () => {
    const now = new Date('2026-11-28T23:59:59.999Z');
    expect([firstShownDay(now), firstShownDay(now, 1)]).toEqual(['2026-11-22', '2026-11-28']);
  });
});
