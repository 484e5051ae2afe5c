import pg from 'pg';
import { parseTimestamp } from './timestamps.ts';

const byDriver = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ) as (
  text: string,
) => Date | number;

describe('timestamps of the database', () => {
  it.each([
    ['2026-11-26 17:39:52.123456+00', '2026-11-26T17:39:52.123Z'],
    ['2026-11-26 17:39:52+00', '2026-11-26T17:39:52.000Z'],
    ['2024-02-29 23:59:59.9+00', '2024-02-29T23:59:59.900Z'],
    ['2026-11-26 17:39:52.05+00', '2026-11-26T17:39:52.050Z'],
    ['0100-01-01 00:00:00+00', '0100-01-01T00:00:00.000Z'],
    ['9999-12-31 23:59:59.999999+00', '9999-12-31T23:59:59.999Z'],
  ])('reads the usual form: %s', (text, expected) => {
    expect((parseTimestamp(text) as Date).toISOString()).toBe(expected);
  });

  it.each([
    '2026-11-26 17:39:52.1+05:30',
    '2026-11-26 17:39:52-03',
    '1890-01-01 00:00:00+00:53:28',
    '0099-01-01 00:00:00+00',
    '0044-03-15 10:00:00+00 BC',
    '10000-01-01 00:00:00+00',
    'infinity',
    '-infinity',
  ])('leaves other forms to the driver: %s', (text) => {
    expect(parseTimestamp(text)).toEqual(byDriver(text));
  });

  it('reads the same times as the driver', () => {
    const from = Date.UTC(1900, 0, 1);
    const texts = Array.from({ length: 2_000 }, (_, index) => {
      const iso = new Date(from + index * 3_456_789_123 + (index % 1000)).toISOString();
      return iso.replace('T', ' ').replace('Z', `${index % 7}${index % 9}+00`);
    });
    expect(texts.map(parseTimestamp)).toEqual(texts.map(byDriver));
  });
});
