import { jest } from '@jest/globals';
import { canonicalLines } from './canonical-lines.ts';
import { withMovedExclusions } from './moved-exclusions.ts';
import { Series } from './series.ts';
import type { SeriesSource } from './series-source.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const BEGIN = Date.parse('2030-01-01T09:00:00Z');
const day = (index: number) =>
  new Date(BEGIN + index * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '');
const days = (count: number) =>
  Array.from({ length: count }, (_, index) => `EXDATE;VALUE=DATE:${day(2 * index + 1)}`);
const source = (rrule: string[], timezone = 'Europe/Berlin'): SeriesSource => ({
  when: { object: 'time', time: BEGIN / 1000 },
  recurrence: { rrule, timezone },
});
/** The days with an hour that a series does not exclude, as numbers of days after its first. */
const daysOf = (rrule: string[], count: number) => {
  const series = new Series(source(rrule, 'UTC'));
  const midnight = BEGIN - 9 * HOUR_MS;
  return Array.from({ length: count }, (_, index) => index).filter((index) =>
    Array.from({ length: 24 }, (_, hour) => midnight + index * DAY_MS + hour * HOUR_MS).some(
      (ms) => !series.excludes(ms),
    ),
  );
};
const evenUnder = (count: number) =>
  Array.from({ length: count }, (_, index) => index).filter((index) => index % 2 === 0);

describe('canonicalLines', () => {
  it('names the starts on an excluded day', () => {
    expect(canonicalLines(source(['RRULE:FREQ=DAILY', ...days(2)]))).toEqual([
      'RRULE:FREQ=DAILY',
      'EXDATE;TZID=Europe/Berlin:20300102T100000',
      'EXDATE;TZID=Europe/Berlin:20300104T100000',
    ]);
  });

  it.each([
    ['HOURLY', 50, 'EXDATE;VALUE=DATE:20300102'],
    ['MINUTELY', 10, 'EXDATE;VALUE=DATE:20300102'],
    ['HOURLY', 20, 'EXDATE:20300102T000000Z'],
  ])('keeps all exclusions of %s with %i excluded days', (frequency, count, first) => {
    const lines = canonicalLines(source([`RRULE:FREQ=${frequency}`, ...days(count)], 'UTC'));
    expect(lines[1]).toContain(first);
    expect(daysOf(lines, 2 * count)).toEqual(evenUnder(2 * count));
  });

  it('keeps the days if all rules together have too many starts between them', () => {
    const rules = Array.from(
      { length: 10 },
      (_, index) => `RRULE:FREQ=DAILY;COUNT=${2_000 + index}`,
    );
    const lines = [...rules, 'EXDATE;VALUE=DATE:20300102', 'EXDATE;VALUE=DATE:20500102'];
    expect(canonicalLines(source(lines))).toEqual(lines);
  });

  it('keeps the days in one line that would become too long', () => {
    const list = `EXDATE;VALUE=DATE:${Array.from({ length: 50 }, (_, index) => day(index)).join()}`;
    expect(canonicalLines(source(['RRULE:FREQ=HOURLY', list]))).toEqual([
      'RRULE:FREQ=HOURLY',
      list,
    ]);
  });
});

describe('the work for excluded days', () => {
  const RULES = Array.from(
    { length: 10 },
    (_, index) => `RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=${index + 1},-1;COUNT=2000`,
  );
  afterEach(() => jest.restoreAllMocks());

  it('is one expansion, however many days a series excludes and wherever it moves', () => {
    const expand = jest.spyOn(Series.prototype, 'startsBetween');
    const before = source([...RULES, ...days(219)]);
    canonicalLines(before);
    expect(expand).toHaveBeenCalledTimes(1);
    expand.mockClear();
    const times = days(219).map((line) => `EXDATE:${line.slice(-8)}T090000Z`);
    const moving = source([...RULES, ...days(219), ...times]);
    const after = { ...moving, when: { object: 'time', time: BEGIN / 1000 + 3600 } } as const;
    withMovedExclusions(moving, after);
    expect(expand).toHaveBeenCalledTimes(1);
  });
});
