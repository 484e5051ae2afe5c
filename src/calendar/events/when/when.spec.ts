import {
  boundsOf,
  isDate,
  readWhen,
  type WhenFields,
  withoutAddedZones,
  withZones,
} from './when.ts';

const read = (fields: WhenFields & Record<string, unknown>) =>
  readWhen(fields, Object.keys(fields));

describe('readWhen', () => {
  it.each([
    [{ time: 5 }, { object: 'time', time: 5 }],
    [{ time: 0 }, { object: 'time', time: 0 }],
    [
      { time: 5, timezone: 'UTC' },
      { object: 'time', time: 5, timezone: 'UTC' },
    ],
    [
      { start_time: 5, end_time: 6 },
      { object: 'timespan', start_time: 5, end_time: 6 },
    ],
    [
      { start_time: 5, end_time: 6, start_timezone: 'UTC', end_timezone: 'Europe/Rome' },
      {
        object: 'timespan',
        start_time: 5,
        end_time: 6,
        start_timezone: 'UTC',
        end_timezone: 'Europe/Rome',
      },
    ],
    [{ date: '2026-01-02' }, { object: 'date', date: '2026-01-02' }],
    [
      { start_date: '2026-01-02', end_date: '2026-01-03' },
      { object: 'datespan', start_date: '2026-01-02', end_date: '2026-01-03' },
    ],
  ])('reads %j', (fields, when) => expect(read(fields)).toEqual({ when }));

  it('turns a timespan or datespan with equal ends into a single time or date', () => {
    expect(read({ start_time: 5, end_time: 5, start_timezone: 'UTC' })).toEqual({
      when: { object: 'time', time: 5, timezone: 'UTC' },
    });
    expect(read({ start_date: '2026-01-02', end_date: '2026-01-02' })).toEqual({
      when: { object: 'date', date: '2026-01-02' },
    });
  });

  it('reads zones of another form, which clients leave when they change the form of an event', () => {
    const zones = { start_timezone: 'Europe/Rome', end_timezone: 'Europe/Rome' };
    expect(read({ time: 5, ...zones })).toEqual({
      when: { object: 'time', time: 5, timezone: 'Europe/Rome' },
    });
    expect(read({ start_time: 5, end_time: 6, timezone: 'Europe/Rome' })).toEqual({
      when: { object: 'timespan', start_time: 5, end_time: 6, start_timezone: 'Europe/Rome' },
    });
    expect(read({ date: '2026-01-02', timezone: 'UTC' })).toEqual({
      when: { object: 'date', date: '2026-01-02' },
    });
    expect(read({ start_date: '2026-01-02', end_date: '2026-01-03', ...zones })).toEqual({
      when: { object: 'datespan', start_date: '2026-01-02', end_date: '2026-01-03' },
    });
  });

  it('refuses a start after the end', () => {
    expect(read({ start_time: 6, end_time: 5 })).toEqual({
      problem: `'start_time' must be < 'end_time'.`,
    });
    expect(read({ start_date: '2026-01-03', end_date: '2026-01-02' })).toEqual({
      problem: `'start_date' must be < 'end_date'.`,
    });
  });

  it.each([
    {},
    { start_time: 5 },
    { end_time: 5 },
    { start_date: '2026-01-02' },
    { timezone: 'UTC' },
    { time: 5, date: '2026-01-02' },
    { time: 5, start_time: 5, end_time: 6 },
    { start_time: 5, end_date: '2026-01-02' },
    { time: 5, somewhere: 'else' },
  ])('refuses the keys of %j', (fields) =>
    expect(read(fields)).toEqual({
      problem: expect.stringMatching(/^When object had invalid keys\./),
    }),
  );
});

describe('withZones', () => {
  const span = { object: 'timespan', start_time: 5, end_time: 6 } as const;

  it.each([
    [{ object: 'time', time: 5 }, { timezone: 'UTC' }],
    [span, { start_timezone: 'UTC', end_timezone: 'UTC' }],
    [{ ...span, start_timezone: 'Asia/Tokyo' }, { end_timezone: 'Asia/Tokyo' }],
    [{ object: 'date', date: '2026-01-02' }, {}],
  ] as const)('adds zones to %j, and withoutAddedZones removes them', (when, added) => {
    const shown = withZones(when);
    expect(shown).toEqual({ ...when, ...added });
    expect(withoutAddedZones(when, shown)).toEqual(when);
  });

  it('uses the zone of a series, and keeps a zone that the client has changed', () => {
    const shown = withZones(span, 'Asia/Tokyo');
    expect(shown).toEqual({ ...span, start_timezone: 'Asia/Tokyo', end_timezone: 'Asia/Tokyo' });
    const changed = { ...shown, start_timezone: 'UTC' } as typeof shown;
    expect(withoutAddedZones(span, changed, 'Asia/Tokyo')).toEqual({
      ...span,
      start_timezone: 'UTC',
    });
  });
});

describe('isDate', () => {
  it.each(['2026-01-02', '2024-02-29', '1000-01-01', '9999-12-31'])('accepts %s', (text) =>
    expect(isDate(text)).toBe(true),
  );

  it.each([
    '2026-02-29',
    '2026-02-30',
    '2026-04-31',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    '0000-01-01',
    '0999-01-01',
    '2026-1-2',
    '20260102',
    '2026-01-02T00:00:00Z',
    ' 2026-01-02',
    '2026-01-02\n',
    '',
    '+12026-01-02',
  ])('refuses %j', (text) => expect(isDate(text)).toBe(false));
});

describe('boundsOf', () => {
  const bounds = (when: Parameters<typeof boundsOf>[0], zone = 'UTC') => {
    const { startsAt, endsAt } = boundsOf(when, zone);
    return [startsAt.toISOString(), endsAt.toISOString()];
  };

  it('returns the instants of a time or timespan unchanged, whatever the zone', () => {
    expect(bounds({ object: 'time', time: 1_700_000_000 }, 'Asia/Tokyo')).toEqual([
      '2023-11-14T22:13:20.000Z',
      '2023-11-14T22:13:20.000Z',
    ]);
    expect(bounds({ object: 'timespan', start_time: 0, end_time: 60 }, 'Asia/Tokyo')).toEqual([
      '1970-01-01T00:00:00.000Z',
      '1970-01-01T00:01:00.000Z',
    ]);
  });

  it('lets an all-day event last from the first to the last instant of its day in the zone', () => {
    expect(bounds({ object: 'date', date: '2026-03-29' }, 'Europe/Berlin')).toEqual([
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
    ]);
  });

  it('includes the last day of a datespan', () => {
    expect(
      bounds({ object: 'datespan', start_date: '2026-01-30', end_date: '2026-02-01' }),
    ).toEqual(['2026-01-30T00:00:00.000Z', '2026-02-02T00:00:00.000Z']);
  });

  it('ends the last possible day one millisecond before the year 10000', () => {
    expect(bounds({ object: 'date', date: '9999-12-31' })[1]).toBe('9999-12-31T23:59:59.999Z');
  });
});
