import { reasonsOf, reasonsOfMailbox } from './completeness-policy.ts';

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
const delivered = { waiting: 0, dropped: 0, unaccounted: 0 };

describe('reasonsOf', () => {
  it('finds nothing in a day of which everything is known and right', () => {
    expect(reasonsOf({ messages, webhooks: [delivered] }, now)).toEqual([]);
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
    [{}, { unaccounted: 1 }, 'unaccounted'],
  ])('with %j and a webhook with %j is %s', (of, webhook, reason) => {
    const webhooks = [delivered, { ...delivered, ...webhook }];
    expect(reasonsOf({ messages: { ...messages, ...of }, webhooks }, now)).toEqual([reason]);
  });

  it.each([
    ['2026-11-28', '2026-11-27T11:59:59Z', true],
    ['2026-11-28', '2026-11-27T12:00:00Z', false],
    ['2026-11-25', '2026-11-25T23:59:59Z', true],
    ['2026-11-25', '2026-11-26T00:00:00Z', false],
  ])('of %s with an audit that began at %s: overdue %s', (day, at, isOverdue) => {
    const known = { messages: { ...messages, day, auditedAt: new Date(at) }, webhooks: [] };
    expect(reasonsOf(known, now)).toEqual(isOverdue ? ['audit_overdue'] : []);
  });
});

describe('reasonsOfMailbox', () => {
  it('is not complete before the first audit of everything', () => {
    expect(reasonsOfMailbox(null)).toEqual(['never_audited']);
  });
});
