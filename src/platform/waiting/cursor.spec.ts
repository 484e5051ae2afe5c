import { BEGINNING, fromCursor, FROM_THE_START, toCursor } from './cursor.ts';

const ACCOUNT = '019aa1b2-0000-7000-8000-00000000abcd';

describe('cursors', () => {
  it.each([[BEGINNING], [{ seq: 1, at: 1_763_600_000_123 }], [{ seq: 2 ** 44, at: 2 ** 52 }]])(
    'return the position they were made from: %j',
    (position) => {
      expect(fromCursor(ACCOUNT, toCursor(ACCOUNT, position))).toEqual(position);
      expect(fromCursor(ACCOUNT.toUpperCase(), toCursor(ACCOUNT, position))).toEqual(position);
    },
  );

  it('are valid for one account, one position and one time only', () => {
    const cursor = toCursor(ACCOUNT, { seq: 10, at: 20 });
    expect(fromCursor(ACCOUNT.replace('abcd', 'abce'), cursor)).toBeUndefined();
    const [seq, at, seal] = cursor.split('-');
    for (const altered of [`b-${at}-${seal}`, `${seq}-l-${seal}`, `${seq}-${at}-${'0'.repeat(12)}`])
      expect(fromCursor(ACCOUNT, altered)).toBeUndefined();
  });

  it.each([
    ['an empty text', ''],
    ['the beginning of the log, which has no cursor', FROM_THE_START],
    ['upper-case letters', toCursor(ACCOUNT, { seq: 36 ** 3 - 1, at: 0 }).toUpperCase()],
    ['a leading space', ` ${toCursor(ACCOUNT, BEGINNING)}`],
    ['a trailing line break', `${toCursor(ACCOUNT, BEGINNING)}\n`],
    ['digits of another alphabet', '１-0-000000000000'],
  ])('reject %s', (_, text) => {
    expect(fromCursor(ACCOUNT, text)).toBeUndefined();
  });

  it('reject numbers too large to be exact', () => {
    expect(fromCursor(ACCOUNT, toCursor(ACCOUNT, { seq: 2 ** 54, at: 0 }))).toBeUndefined();
  });
});
