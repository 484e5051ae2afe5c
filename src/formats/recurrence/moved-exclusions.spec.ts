import { movedStart, withMovedExclusions } from './moved-exclusions.ts';
import type { SeriesSource } from './series-source.ts';

const at = (iso: string) => Date.parse(iso) / 1000;
const series = (start: string, rrule: string[]): SeriesSource => ({
  when: { object: 'time', time: at(start) },
  recurrence: { rrule, timezone: 'Europe/Berlin' },
});
const RULE = 'RRULE:FREQ=DAILY;COUNT=30';

describe('withMovedExclusions', () => {
  it('moves exclusions by the clocks, also over a change of clocks', () => {
    const lines = [RULE, 'EXDATE;TZID=Europe/Berlin:20270310T100000', 'EXDATE:20270330T080000Z'];
    const [before, after] = ['2027-03-08T09:00Z', '2027-03-08T14:00Z'].map((start) =>
      series(start, lines),
    );
    expect(withMovedExclusions(before!, after!).rrule).toEqual([
      RULE,
      'EXDATE;TZID=Europe/Berlin:20270310T150000',
      'EXDATE;TZID=Europe/Berlin:20270330T150000',
    ]);
  });

  it('adds deleted instances that no line names yet, and keeps new lines', () => {
    const added = 'EXDATE;TZID=Europe/Berlin:20270312T110000';
    const before = series('2027-03-08T09:00Z', [RULE]);
    const after = series('2027-03-08T10:00Z', [RULE, added]);
    const deleted = [Date.parse('2027-03-10T09:00Z')];
    expect(withMovedExclusions(before, after, deleted).rrule).toEqual([
      RULE,
      added,
      'EXDATE;TZID=Europe/Berlin:20270310T110000',
    ]);
  });

  it('drops exclusions of times that the moved series does not have', () => {
    const lines = [
      'RRULE:FREQ=DAILY;COUNT=3',
      'EXDATE:20270309T090000Z',
      'EXDATE:20270401T080000Z',
    ];
    const { rrule } = withMovedExclusions(
      series('2027-03-08T09:00Z', lines),
      series('2027-03-09T09:00Z', lines),
    );
    expect(rrule).toEqual([lines[0], 'EXDATE;TZID=Europe/Berlin:20270310T100000']);
  });

  it.each([
    ['2027-03-08T14:00Z', '20270310,20270312'],
    ['2027-03-09T09:00Z', '20270311,20270313'],
    ['2027-03-07T23:30Z', '20270310,20270312'],
    ['2027-03-07T22:30Z', '20270309,20270311'],
  ])('moves excluded days along as days to %s', (start, days) => {
    const lines = [RULE, 'EXDATE;VALUE=DATE:20270310', 'EXDATE;VALUE=DATE:20270312'];
    const { rrule } = withMovedExclusions(series('2027-03-08T09:00Z', lines), series(start, lines));
    expect(rrule).toEqual([RULE, `EXDATE;VALUE=DATE:${days}`]);
  });

  it('moves no instance of a series that changed from times to days', () => {
    const before = series('2027-03-08T09:00Z', [RULE]);
    const after = { ...before, when: { object: 'date', date: '2027-03-08' } as const };
    expect(movedStart(Date.parse('2027-03-10T09:00Z'), before, after)).toBeNull();
  });
});
