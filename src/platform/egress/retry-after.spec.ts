import { parseRetryAfter } from './retry-after.ts';

const now = new Date('2026-11-20T10:00:00Z');

describe('parseRetryAfter', () => {
  it.each([
    ['120', '2026-11-20T10:02:00.000Z'],
    [' 0 ', '2026-11-20T10:00:00.000Z'],
    ['Fri, 20 Nov 2026 10:05:00 GMT', '2026-11-20T10:05:00.000Z'],
    ['Friday, 20-Nov-26 10:05:00 GMT', '2026-11-20T10:05:00.000Z'],
  ])('reads "%s"', (value, expected) => {
    expect(parseRetryAfter(value, now)?.toISOString()).toBe(expected);
  });

  it.each([null, '', '-5', '1.5', 'soon', '1e3', '99999999999'])(
    'treats "%s" as absent',
    (value) => {
      expect(parseRetryAfter(value, now)).toBeNull();
    },
  );
});
