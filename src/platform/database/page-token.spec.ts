import { pageOf, pageToken, readPageToken } from './page-token.ts';

const ID = '019aa1b2-0000-7000-8000-000000000001';

describe('page tokens', () => {
  it('lead back to the keys that they were made of', () => {
    expect(readPageToken(pageToken(3, ID), ['number', 'id'])).toEqual([3, ID]);
    expect(readPageToken(undefined, ['number'])).toBeNull();
  });

  it.each([
    '',
    'eA',
    'x'.repeat(1_001),
    pageToken('3', ID),
    pageToken(3, 'x'),
    pageToken(3),
    '\u0000',
  ])('of another list, or made up, are refused with the name of the field: %j', (token) => {
    expect(() => readPageToken(token, ['number', 'id'])).toThrow(/^page_token: /);
  });

  it('are on every page but the last one', () => {
    expect(pageOf(['a', 'b', 'c'], 2, (last) => last)).toEqual({
      items: ['a', 'b'],
      nextPageToken: 'b',
    });
    expect(pageOf(['a', 'b'], 2, (last) => last).nextPageToken).toBeNull();
    expect(pageOf([], 2, () => 'x')).toEqual({ items: [], nextPageToken: null });
  });
});
