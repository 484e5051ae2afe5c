import { secondsOfTimeText } from './time-text.ts';

const NOON = Date.UTC(2027, 2, 10, 12) / 1000;

describe('secondsOfTimeText', () => {
  it.each([
    '2027-03-10T12:00:00.000Z',
    '2027-03-10T12:00:00Z',
    '2027-03-10t12:00:00z',
    '2027-03-10T12:00Z',
    '2027-03-10T12:00:00',
    '2027-03-10T13:00:00+01:00',
    '2027-03-10T06:30:00-0530',
    '2027-03-10T14:00+02',
    '20270310T120000Z',
    '2027-03-10 12:00:00',
    '2027-03-10 12:00:00.123456',
    '2027-03-10 13:00:00+01:00',
    '2027-03-10 13:00:00 +0100',
    '2027-03-10 12:00:00 UTC',
    ' 2027-03-10 12:00 ',
    'Wed Mar 10 2027 13:00:00 GMT+0100 (Central European Standard Time)',
    'Wed Mar 10 2027 12:00:00 GMT+0000',
  ])('reads %s as the same instant', (text) => {
    expect(secondsOfTimeText(text)).toBe(NOON);
  });

  it.each(['2027-03-10T13:00:00 01:00', '2027-03-10 13:00:00  0100'])(
    'reads %j, whose plus sign became a space in a query',
    (text) => {
      expect(secondsOfTimeText(text)).toBe(NOON);
    },
  );

  it('reads a day as its first second in UTC', () => {
    expect(secondsOfTimeText('2027-03-10')).toBe(NOON - 12 * 3_600);
  });

  it.each([
    '',
    'today',
    '10 March 2027',
    '2027-02-30',
    '2027-13-01',
    '2027-3-1',
    '2027-03-10T24:01:00Z',
    '2027-03-10T12:60:00Z',
    '2027-03-10T12:00:00+24:00',
    '2027-03-10T12:00:00 CET',
    '2027-03-10T',
    '12027-03-10',
    `2027-03-10T12:00:00.${'1'.repeat(1_000)}`,
  ])('does not read %j', (text) => {
    expect(secondsOfTimeText(text)).toBeUndefined();
  });
});
