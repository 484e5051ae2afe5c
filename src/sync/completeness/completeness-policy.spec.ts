import { reasonsOfAccount, reasonsOfCollection, reasonsOfDay } from './completeness-policy.ts';

const now = new Date('2026-11-28T12:00:00Z');
const messages = {
  day: '2026-11-28',
  auditedAt: new Date('2026-11-28T11:00:00Z'),
  skipped: 0,
  unrepaired: 0,
  missing: 0,
  surplus: 0,
  withoutEvent: 0,
};
const delivered = { waiting: 0, dropped: 0, withoutEvent: 0, unaccounted: 0 };
const changes = [{ missing: 0 }];

describe('reasonsOfDay', () => {
  it('finds nothing in a day of which everything is known and right', () => {
    expect(reasonsOfDay({ messages, changes, webhooks: [delivered] }, now)).toEqual([]);
  });

  it.each([
    [{ auditedAt: null }, {}, 'never_audited'],
    [{ skipped: 1 }, {}, 'folders_skipped'],
    [{ unrepaired: 1 }, {}, 'unrepaired'],
    [{ missing: 1 }, {}, 'missing'],
    [{ surplus: 1 }, {}, 'surplus'],
    [{ withoutEvent: 1 }, {}, 'without_event'],
    [{}, { waiting: 1 }, 'waiting'],
    [{}, { dropped: 1 }, 'dropped'],
    [{}, { withoutEvent: 1 }, 'without_event'],
    [{}, { unaccounted: 1 }, 'unaccounted'],
  ])('with %j and a webhook with %j is %s', (of, webhook, reason) => {
    const webhooks = [delivered, { ...delivered, ...webhook }];
    const known = { messages: { ...messages, ...of }, changes, webhooks };
    expect(reasonsOfDay(known, now)).toEqual([reason]);
  });

  it('is missing an object that the change log has and the mirror has not', () => {
    const known = { messages, changes: [...changes, { missing: 1 }], webhooks: [] };
    expect(reasonsOfDay(known, now)).toEqual(['missing']);
  });

  it.each([
    ['2026-11-28', '2026-11-27T11:59:59Z', true],
    ['2026-11-28', '2026-11-27T12:00:00Z', false],
    ['2026-11-25', '2026-11-25T23:59:59Z', true],
    ['2026-11-25', '2026-11-26T00:00:00Z', false],
  ])('of %s with an audit that began at %s: overdue %s', (day, at, isOverdue) => {
    const audited = { ...messages, day, auditedAt: new Date(at) };
    const known = { messages: audited, changes, webhooks: [] };
    expect(reasonsOfDay(known, now)).toEqual(isOverdue ? ['audit_overdue'] : []);
  });
});

describe('reasonsOfCollection', () => {
  const collection = { auditedAt: now, missing: 0, surplus: 0, unstored: 0 };

  it.each([
    [{}, []],
    [{ auditedAt: null }, ['never_audited']],
    [{ auditedAt: new Date('2026-11-20T12:00:00Z') }, []],
    [{ auditedAt: new Date('2026-11-20T11:59:59Z') }, ['audit_overdue']],
    [{ missing: 1 }, ['missing']],
    [{ surplus: 1 }, ['surplus']],
    [{ unstored: 1 }, ['unstored']],
  ])('with %j is %j, if it is audited each 7 days', (of, reasons) => {
    expect(reasonsOfCollection({ ...collection, ...of }, 7, now)).toEqual(reasons);
  });
});

describe('reasonsOfAccount', () => {
  it('is not complete before the first audit of everything', () => {
    expect(reasonsOfAccount(null, 'running')).toEqual(['never_audited']);
  });

  it('is not complete while the account is not synced', () => {
    expect(reasonsOfAccount(null, 'stopped')).toEqual(['not_synced', 'never_audited']);
  });
});
