import { isFromItself, namesOnlyItself } from './sender-identity.ts';

const account = { email: 'ada@b.test' };

describe('isFromItself', () => {
  it('ignores upper and lower case of ASCII letters only', () => {
    expect(isFromItself('Ada@B.Test', account)).toBe(true);
    expect(isFromItself('mar\u212a@b.test', { email: 'mark@b.test' })).toBe(false);
    expect(isFromItself('eve@b.test', account)).toBe(false);
  });
});

describe('namesOnlyItself', () => {
  it.each([
    'ada@b.test',
    ' <Ada@b.test> ',
    'Ada Example <ada@b.test>',
    '"Example, Ada (CEO)" <ada@b.test>',
    '=?UTF-8?Q?=C3=84da?= <ada@b.test>',
  ])('accepts the only author %s', (value) => {
    expect(namesOnlyItself(value, account)).toBe(true);
  });

  it.each([
    ['another address', 'eve@b.test'],
    ['an empty field', ''],
    ['two authors', 'ada@b.test, eve@b.test'],
    ['a megabyte of quotes before the right address', `${'"\\'.repeat(300_000)}<ada@b.test>`],
    ['a group', 'Staff: ada@b.test;'],
    ['an empty group', 'undisclosed:;'],
    ['two addresses in brackets', '<eve@b.test> <ada@b.test>'],
    ['an address before the brackets', 'eve@b.test <ada@b.test>'],
    ['an address after the brackets', '<ada@b.test> eve@b.test'],
    ['a comment that another parser may read as the address', 'ada@b.test (eve@b.test)'],
    ['a comment within the address', 'ada(x)@b.test'],
    ['a route', '<@eve.test:ada@b.test>'],
    ['an unclosed quotation', '"eve@b.test <ada@b.test>'],
    ['a NUL', 'eve\0 <ada@b.test\0>'],
  ])('refuses %s', (_, value) => {
    expect(namesOnlyItself(value, account)).toBe(false);
  });
});
