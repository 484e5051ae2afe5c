import { forLog } from './for-log.ts';

describe('forLog', () => {
  it.each([
    ['550 5.1.1 <bob@example.test>: user unknown', '550 5.1.1 <…@…>: user unknown'],
    ["to=eve.o'hara@münchen.test,refused", "to=eve.o'…@…,refused"],
    [
      '554 refused: subject "Your salary" looks like spam',
      '554 refused: subject "…" looks like spam',
    ],
    ['535 bad credentials AGFsaWNlAHNlY3JldA==', '535 bad credentials …'],
    [`401 ya29.${'a'.repeat(80)}`, '401 ya29.…'],
    ['250 2.0.0 Ok: queued as 4XyzAbC12z\r\nmore', '250 2.0.0 Ok: queued as 4XyzAbC12z more'],
  ])(
    'keeps of %j what names the cause, without addresses, quotations and tokens',
    (text, shown) => {
      expect(forLog(text)).toBe(shown);
    },
  );

  it('cuts a long text after 300 characters', () => {
    expect(forLog('no '.repeat(1_000_000))).toHaveLength(301);
  });
});
