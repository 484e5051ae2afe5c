import { dayOf } from './graph-time.ts';

describe('the day of an all-day event', () => {
  it.each([
    ['a midnight in UTC', '2027-03-10T00:00:00Z', 'W. Europe Standard Time', '2027-03-10'],
    ['a midnight in Berlin', '2027-03-09T23:00:00Z', 'W. Europe Standard Time', '2027-03-10'],
    [
      'a midnight in Berlin in summer',
      '2027-07-09T22:00:00Z',
      'W. Europe Standard Time',
      '2027-07-10',
    ],
    ['a midnight in New York', '2027-03-10T05:00:00Z', 'Eastern Standard Time', '2027-03-10'],
    [
      'a midnight of an unknown zone in the east',
      '2027-03-09T18:30:00Z',
      'tzone://Microsoft/Custom',
      '2027-03-10',
    ],
    ['a midnight of an unknown zone in the west', '2027-03-10T08:00:00Z', null, '2027-03-10'],
  ])('is the day of %s', (_, instant, zone, day) => {
    expect(dayOf(Date.parse(instant), zone)).toBe(Date.parse(day));
  });
});
