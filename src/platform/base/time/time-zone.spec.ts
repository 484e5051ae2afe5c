import { isTimeZone, startOfDay } from './time-zone.ts';

describe('isTimeZone', () => {
  it.each([
    'UTC',
    'Europe/Berlin',
    'america/new_york',
    'America/Argentina/Ushuaia',
    'Asia/Calcutta',
    'Etc/GMT+5',
  ])('accepts %s', (name) => expect(isTimeZone(name)).toBe(true));

  it.each([
    '',
    ' ',
    'Mars/Olympus',
    '+05:30',
    '-08',
    'Europe/Berlin ',
    'Europe/Berlin\n',
    'UTC+1:00',
    'Europe//Berlin',
    'x'.repeat(5000),
  ])('refuses %j', (name) => expect(isTimeZone(name)).toBe(false));
});

describe('startOfDay', () => {
  const start = (date: string, zone: string) =>
    startOfDay(Date.parse(`${date}T00:00:00Z`), zone).toISOString();

  it.each([
    ['2026-01-15', 'UTC', '2026-01-15T00:00:00.000Z'],
    ['2026-01-15', 'Europe/Berlin', '2026-01-14T23:00:00.000Z'],
    ['2026-07-15', 'Europe/Berlin', '2026-07-14T22:00:00.000Z'],
    ['2026-01-15', 'America/New_York', '2026-01-15T05:00:00.000Z'],
    ['2026-01-15', 'Asia/Kolkata', '2026-01-14T18:30:00.000Z'],
    ['2026-01-15', 'Pacific/Kiritimati', '2026-01-14T10:00:00.000Z'],
    ['2026-01-15', 'Pacific/Pago_Pago', '2026-01-15T11:00:00.000Z'],
  ])('%s in %s', (date, zone, expected) => expect(start(date, zone)).toBe(expected));

  it('uses the offset of midnight on days on which clocks change', () => {
    expect(start('2026-03-29', 'Europe/Berlin')).toBe('2026-03-28T23:00:00.000Z');
    expect(start('2026-03-30', 'Europe/Berlin')).toBe('2026-03-29T22:00:00.000Z');
    expect(start('2026-10-25', 'Europe/Berlin')).toBe('2026-10-24T22:00:00.000Z');
    expect(start('2026-10-26', 'Europe/Berlin')).toBe('2026-10-25T23:00:00.000Z');
  });

  it('returns the first instant after midnight if clocks skip midnight', () => {
    // Santiago went from 24:00 to 01:00 on 8 September 2024, São Paulo on 4 November 2018.
    expect(start('2024-09-08', 'America/Santiago')).toBe('2024-09-08T04:00:00.000Z');
    expect(start('2018-11-04', 'America/Sao_Paulo')).toBe('2018-11-04T03:00:00.000Z');
  });

  it('returns the first midnight if there are two', () => {
    // Havana went from 01:00 back to 00:00 on 3 November 2024.
    expect(start('2024-11-03', 'America/Havana')).toBe('2024-11-03T04:00:00.000Z');
  });

  it('returns the instant of the skip for a day that a zone skipped', () => {
    expect(start('2011-12-30', 'Pacific/Apia')).toBe('2011-12-30T10:00:00.000Z');
    expect(start('2011-12-31', 'Pacific/Apia')).toBe('2011-12-30T10:00:00.000Z');
  });

  it('returns the first instant of a day at both ends of the accepted range', () => {
    expect(start('1000-01-01', 'UTC')).toBe('1000-01-01T00:00:00.000Z');
    expect(start('9999-12-31', 'UTC')).toBe('9999-12-31T00:00:00.000Z');
  });
});
