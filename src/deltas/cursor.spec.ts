import { BEGINNING, fromCursor, FROM_THE_START, toCursor } from './cursor.ts';

const ACCOUNT = '019aa1b2-0000-7000-8000-00000000abcd';

describe('cursors', () => {
  it.each([[BEGINNING], [{ seq: 1, at: 1_763_600_000_123 }], [{ seq: 2 ** 44, at: 2 ** 52 }]])(
    'give the place back that they were made of: %j',
    (position) => {
      expect(fromCursor(ACCOUNT, toCursor(ACCOUNT, position))).toEqual(position);
      expect(fromCursor(ACCOUNT.toUpperCase(), toCursor(ACCOUNT, position))).toEqual(position);
    },
  );

  it('are of one account, one place and one time', () => {
    const cursor = toCursor(ACCOUNT, { seq: 10, at: 20 });
    expect(fromCursor(ACCOUNT.replace('abcd', 'abce'), cursor)).toBeUndefined();
    const [seq, at, seal] = cursor.split('-');
    for (const altered of [`b-${at}-${seal}`, `${seq}-l-${seal}`, `${seq}-${at}-${'0'.repeat(12)}`])
      expect(fromCursor(ACCOUNT, altered)).toBeUndefined();
  });

  it.each([
    ['nothing', ''],
    ['the beginning of the log, which is none', FROM_THE_START],
    ['upper case', toCursor(ACCOUNT, { seq: 36 ** 3 - 1, at: 0 }).toUpperCase()],
    ['something before it', ` ${toCursor(ACCOUNT, BEGINNING)}`],
    ['a line break after it', `${toCursor(ACCOUNT, BEGINNING)}\n`],
    ['another alphabet', '１-0-000000000000'],
  ])('are not made up of %s', (_, text) => {
    expect(fromCursor(ACCOUNT, text)).toBeUndefined();
  });

  it('with numbers too large to be exact are none', () => {
    expect(fromCursor(ACCOUNT, toCursor(ACCOUNT, { seq: 2 ** 54, at: 0 }))).toBeUndefined();
  });
});
