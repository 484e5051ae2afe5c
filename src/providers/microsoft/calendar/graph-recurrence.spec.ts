import { describe, expect, it } from '@jest/globals';
import { ruleOf, seriesStart, startsBefore, writeRecurrence } from './graph-recurrence.ts';

/** Friday, March 15, 2030, 09:00 in Berlin. */
const friday = seriesStart({ object: 'time', time: 1_899_792_000 }, 'Europe/Berlin');
const written = (rule: string) =>
  writeRecurrence({ rrule: [`RRULE:${rule}`], timezone: 'Europe/Berlin' }, friday);
const dates = (rule: string) =>
  startsBefore(written(rule), friday, Date.parse('2031-06-01'))
    .map((ms) => new Date(ms).toISOString())
    .slice(0, 4);

describe('rules of series at Microsoft', () => {
  it.each([
    ['FREQ=DAILY', 'daily'],
    ['FREQ=DAILY;INTERVAL=3;COUNT=5', 'daily'],
    ['FREQ=WEEKLY', 'weekly'],
    ['FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR', 'weekly'],
    ['FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,FR;WKST=SU', 'weekly'],
    ['FREQ=WEEKLY;UNTIL=20300419T070000Z', 'weekly'],
    ['FREQ=MONTHLY', 'absoluteMonthly'],
    ['FREQ=MONTHLY;BYMONTHDAY=20', 'absoluteMonthly'],
    ['FREQ=MONTHLY;BYMONTHDAY=-1', 'absoluteMonthly'],
    ['FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1', 'absoluteMonthly'],
    ['FREQ=MONTHLY;BYDAY=3FR', 'relativeMonthly'],
    ['FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1', 'relativeMonthly'],
    ['FREQ=YEARLY', 'absoluteYearly'],
    ['FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=1', 'absoluteYearly'],
    ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1', 'absoluteYearly'],
    ['FREQ=YEARLY;BYMONTH=11;BYDAY=4TH', 'relativeYearly'],
  ])('stores %s as the pattern %s, and reads the same rule', (rule, type) => {
    const sorted = rule.replace('BYDAY=SU,FR', 'BYDAY=SU,FR');
    const recurrence = written(rule);
    expect(recurrence.pattern.type).toBe(type);
    expect(ruleOf(recurrence, friday)).toBe(`RRULE:${sorted}`);
  });

  it.each([
    ['FREQ=WEEKLY;BYDAY=FR', 'FREQ=WEEKLY'],
    ['FREQ=WEEKLY;WKST=MO', 'FREQ=WEEKLY'],
    ['FREQ=DAILY;BYDAY=MO,TU', 'FREQ=WEEKLY;BYDAY=MO,TU'],
    ['FREQ=MONTHLY;BYMONTHDAY=15', 'FREQ=MONTHLY'],
    ['FREQ=MONTHLY;BYDAY=FR;BYSETPOS=3', 'FREQ=MONTHLY;BYDAY=3FR'],
    ['FREQ=WEEKLY;UNTIL=20300419', 'FREQ=WEEKLY;UNTIL=20300419T070000Z'],
    ['FREQ=WEEKLY;UNTIL=20300419T065959Z', 'FREQ=WEEKLY;UNTIL=20300418T070000Z'],
  ])('reads %s as %s, which means the same', (rule, read) => {
    expect(ruleOf(written(rule), friday)).toBe(`RRULE:${read}`);
  });

  it.each([
    ['FREQ=HOURLY', 'FREQ=HOURLY'],
    ['FREQ=MONTHLY;BYMONTHDAY=31', 'day 31'],
    ['FREQ=MONTHLY;BYMONTHDAY=1,15', 'one day'],
    ['FREQ=MONTHLY;BYDAY=5FR', 'last'],
    ['FREQ=MONTHLY;BYDAY=1MO,3FR', 'weekdays'],
    ['FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13', 'BYMONTHDAY'],
    ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29', 'February 29'],
    ['FREQ=YEARLY;BYMONTH=1,7', 'BYMONTH'],
    ['FREQ=YEARLY;BYWEEKNO=20', 'BYWEEKNO'],
    ['FREQ=DAILY;INTERVAL=2;BYDAY=MO', 'weekdays'],
    ['FREQ=DAILY;BYMONTH=1', 'BYMONTH'],
  ])('refuses %s, which Microsoft cannot repeat', (rule, text) => {
    expect(() => written(rule)).toThrow(text);
    expect(() => written(rule)).toThrow('recurrence: ');
  });

  it('refuses a series with two rules or with further dates', () => {
    const rrule = ['RRULE:FREQ=DAILY', 'RDATE:20300401T070000Z'];
    expect(() => writeRecurrence({ rrule, timezone: 'UTC' }, friday)).toThrow('exactly one RRULE');
  });

  it('keeps the time of day when the clocks change', () => {
    expect(dates('FREQ=WEEKLY;INTERVAL=2')).toEqual([
      '2030-03-15T08:00:00.000Z',
      '2030-03-29T08:00:00.000Z',
      '2030-04-12T07:00:00.000Z',
      '2030-04-26T07:00:00.000Z',
    ]);
  });

  it('takes the last day of short months', () => {
    expect(dates('FREQ=MONTHLY;BYMONTHDAY=-1')).toEqual([
      '2030-03-31T07:00:00.000Z',
      '2030-04-30T07:00:00.000Z',
      '2030-05-31T07:00:00.000Z',
      '2030-06-30T07:00:00.000Z',
    ]);
  });
});
