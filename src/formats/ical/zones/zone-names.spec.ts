import fs from 'node:fs';
import { displayedZone } from './windows-display-names.ts';
import { namedZone, offsetInName } from './zone-names.ts';

describe('namedZone', () => {
  it.each([
    ['Europe/Berlin', 'Europe/Berlin'],
    ['europe/berlin', 'Europe/Berlin'],
    ['W. Europe Standard Time', 'Europe/Berlin'],
    ['(UTC-05:00) Eastern Time (US & Canada)', 'America/New_York'],
    ['(GMT-05.00) Eastern Time', undefined],
    ['(GMT+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna', 'Europe/Berlin'],
    ['(UTC) Dublin, Edinburgh, Lisbon, London', 'Europe/London'],
    ['"Romance Standard Time"', 'Europe/Paris'],
    ['/freeassociation.sourceforge.net/Europe/Paris', 'Europe/Paris'],
    ['/softwarestudio.org/Olson_20011030_5/America/Argentina/Salta', 'America/Argentina/Salta'],
    ['/citadel.org/20250101_1/UTC', 'UTC'],
    ['Nowhere', undefined],
    ['Nowhere/UTC', undefined],
  ])('takes %s for %s', (tzid, zone) => {
    expect(namedZone(tzid)).toBe(zone);
  });

  it('knows the zone of every name that Windows shows', () => {
    const source = fs.readFileSync(new URL('./windows-display-names.ts', import.meta.url), 'utf8');
    const [, table = ''] = /TABLE = `([^`]*)`/.exec(source) ?? [];
    const names = table
      .trim()
      .split(/[|\n]/)
      .map((entry) => entry.split('=')[0] ?? '');
    expect(names.length).toBeGreaterThan(130);
    expect(names.filter((name) => displayedZone(name) === undefined)).toEqual([]);
  });

  it.each([
    ['(UTC-05:00) Somewhere', -5 * 3_600_000],
    ['GMT+0530', 5.5 * 3_600_000],
    ['UTC+2', 2 * 3_600_000],
    ['Nowhere', undefined],
    ['+99:00', undefined],
  ])('finds the offset in %s', (tzid, offset) => {
    expect(offsetInName(tzid)).toBe(offset);
  });
});
