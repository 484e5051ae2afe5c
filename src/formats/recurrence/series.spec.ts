import fs from 'node:fs';
import { InvalidRecurrenceError } from './recurrence-lines.ts';
import { TooManyOccurrencesError } from './rules.ts';
import type { EventWhen as When } from './series-source.ts';
import { Series } from './series.ts';

/**
 * Expected results from python-dateutil 2.9, an independent implementation: series in ten zones,
 * across their clock changes.
 */
interface Case {
  zone: string;
  start: number;
  lines: string[];
  from: number;
  before: number;
  /** The first start, then the distance from each start to the next, in seconds. */
  steps: number[];
}
const cases = JSON.parse(
  fs.readFileSync(new URL('./recurrence-cases.json', import.meta.url), 'utf8'),
) as Case[];

const at = (text: string): number => Date.parse(text) / 1000;
const series = (
  lines: string[],
  timezone = 'UTC',
  when: When = { object: 'time', time: at('2026-01-05T09:00:00Z') },
) => new Series({ when, recurrence: { rrule: lines, timezone } });
const startsOf = (one: Series, from: string, before: string): string[] =>
  one
    .between(Date.parse(from), Date.parse(before))
    .map(({ startMs }) => new Date(startMs).toISOString().slice(0, 16));

describe('Series', () => {
  const { TZ } = process.env;
  afterEach(() => {
    if (TZ === undefined) delete process.env['TZ'];
    else process.env['TZ'] = TZ;
  });

  it.each(['UTC', 'America/New_York', 'Pacific/Auckland'])(
    'takes place at the times that python-dateutil computes, on a host in %s',
    (host) => {
      process.env['TZ'] = host;
      const differing = cases.filter(({ zone, start, lines, from, before, steps }) => {
        let next = 0;
        const expected = steps.map((step) => (next += step) * 1000);
        const found = series(lines, zone, { object: 'time', time: start }).between(
          from * 1000,
          before * 1000,
        );
        return JSON.stringify(found.map(({ startMs }) => startMs)) !== JSON.stringify(expected);
      });
      expect(cases.length).toBeGreaterThan(100);
      expect(differing).toEqual([]);
    },
  );

  it('reads a skipped wall time with the offset before the gap, and a repeated one as the first', () => {
    const when: When = { object: 'time', time: at('2026-03-27T01:30:00Z') };
    const daily = series(['RRULE:FREQ=DAILY'], 'Europe/Berlin', when);
    expect(startsOf(daily, '2026-03-28T00:00Z', '2026-03-31T00:00Z')).toEqual([
      '2026-03-28T01:30',
      '2026-03-29T01:30',
      '2026-03-30T00:30',
    ]);
    expect(startsOf(daily, '2026-10-24T00:00Z', '2026-10-27T00:00Z')).toEqual([
      '2026-10-24T00:30',
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
  });

  it('keeps the length of a timespan in seconds and that of a datespan in days', () => {
    const spanning = series(['RRULE:FREQ=DAILY;COUNT=2'], 'Europe/Berlin', {
      object: 'timespan',
      start_time: at('2026-03-28T22:00:00Z'),
      end_time: at('2026-03-29T06:00:00Z'),
    });
    expect(spanning.between(0, at('2027-01-01T00:00:00Z') * 1000).map(({ when }) => when)).toEqual([
      {
        object: 'timespan',
        start_time: at('2026-03-28T22:00:00Z'),
        end_time: at('2026-03-29T06:00:00Z'),
      },
      {
        object: 'timespan',
        start_time: at('2026-03-29T21:00:00Z'),
        end_time: at('2026-03-30T05:00:00Z'),
      },
    ]);
    const days = series(['RRULE:FREQ=MONTHLY', 'EXDATE;VALUE=DATE:20260305'], 'Europe/Berlin', {
      object: 'datespan',
      start_date: '2026-01-05',
      end_date: '2026-01-06',
    });
    expect(
      days.between(Date.parse('2026-02-01'), Date.parse('2026-05-01')).map(({ when }) => when),
    ).toEqual([
      { object: 'datespan', start_date: '2026-02-05', end_date: '2026-02-06' },
      { object: 'datespan', start_date: '2026-04-05', end_date: '2026-04-06' },
    ]);
  });

  it('ends at UNTIL, given as an instant, a wall time or a whole day', () => {
    const until = (end: string) =>
      startsOf(
        series([`RRULE:FREQ=DAILY;UNTIL=${end}`], 'America/New_York'),
        '2026-01-06T00:00Z',
        '2026-02-01T00:00Z',
      ).length;
    expect(until('20260107T090000Z')).toBe(2);
    expect(until('20260107T085959Z')).toBe(1);
    expect(until('20260107T040000')).toBe(2);
    expect(until('20260107T035959')).toBe(1);
    expect(until('20260107')).toBe(2);
  });

  it('lists a time once when several rules match it', () => {
    const twice = series(['RRULE:FREQ=DAILY;COUNT=3', 'RRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=2']);
    expect(startsOf(twice, '2026-01-01T00:00Z', '2026-02-01T00:00Z')).toEqual([
      '2026-01-05T09:00',
      '2026-01-06T09:00',
      '2026-01-07T09:00',
      '2026-01-12T09:00',
    ]);
  });

  it.each([
    ['RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30'],
    ['RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31'],
    ['RRULE:FREQ=MONTHLY;BYDAY=6MO'],
    ['RRULE:FREQ=DAILY;UNTIL=20250101'],
  ])('reports that the rule never takes place: %s', (line) => {
    expect(() => {
      if (!series([line]).hasOccurrences) throw new TooManyOccurrencesError('never');
    }).toThrow(TooManyOccurrencesError);
  });

  it.each([
    ['RRULE:FREQ=FORTNIGHTLY', 'FREQ'],
    ['RRULE:FREQ=DAILY;FREQ=WEEKLY', 'FREQ is given twice'],
    ['RRULE:FREQ=DAILY;COUNT=3;UNTIL=20270101', 'COUNT and UNTIL'],
    ['RRULE:FREQ=DAILY;UNTIL=20270231', 'is not a date'],
    ['RRULE:FREQ=DAILY;INTERVAL=0', 'INTERVAL'],
    ['RRULE:FREQ=DAILY;BYHOUR=25', 'BYHOUR'],
    ['EXDATE:20270101T090000Z', 'no RRULE'],
  ])('refuses the line %s', (line, word) => {
    expect(() => series([line])).toThrow(InvalidRecurrenceError);
    expect(() => series([line])).toThrow(new RegExp(word, 'i'));
  });

  it('leaves out occurrences that end after the year 9999', () => {
    const days = { object: 'datespan', start_date: '9999-12-27', end_date: '9999-12-28' } as const;
    const recurrence = { rrule: ['RRULE:FREQ=DAILY'], timezone: 'UTC' };
    const found = new Series({ when: days, recurrence }).between(
      Date.UTC(9999, 11, 1),
      Date.UTC(10_000, 0, 9),
    );
    expect(found.map(({ when }) => 'end_date' in when && when.end_date)).toEqual([
      '9999-12-28',
      '9999-12-29',
      '9999-12-30',
      '9999-12-31',
    ]);
  });

  it.each([
    ['RRULE:FREQ=DAILY;BYHOUR=9,17;COUNT=1100', 'RRULE:FREQ=HOURLY;COUNT=1000'],
    ['RRULE:FREQ=DAILY;BYHOUR=9;COUNT=99999999999'],
    ['RRULE:FREQ=SECONDLY;UNTIL=20990101T000000Z'],
  ])('refuses rules that take too long to expand: %s', (...lines) => {
    expect(() => series(lines).assertExpandable()).toThrow(TooManyOccurrencesError);
  });

  it('accepts a high COUNT on a rule that is expanded by arithmetic', () => {
    const many = series(['RRULE:FREQ=DAILY;COUNT=99999999']);
    many.assertExpandable();
    expect(many.between(Date.parse('2900-01-01'), Date.parse('2900-01-03'))).toHaveLength(2);
  });

  it('finds no single instance in a series that is too costly to list', () => {
    expect(series(['RRULE:FREQ=SECONDLY']).at(Date.parse('2026-02-01'))).toBeUndefined();
  });

  it('throws when the requested time span has too many occurrences', () => {
    expect(() =>
      series(['RRULE:FREQ=SECONDLY']).between(Date.parse('2026-02-01'), Date.parse('2027-02-01')),
    ).toThrow(TooManyOccurrencesError);
  });

  it('throws when a single step leads out of the range of dates', () => {
    expect(() =>
      series(['RRULE:FREQ=DAILY;INTERVAL=2147483647']).between(
        Date.parse('2026-02-01'),
        Date.parse('2027-02-01'),
      ),
    ).toThrow(TooManyOccurrencesError);
  });
});
