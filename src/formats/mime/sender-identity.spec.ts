import { isFromItself, namesOnlyItself } from './sender-identity.ts';

const account = { email: 'ada@b.test' };

describe('isFromItself', () => {
  it('ignores the case of ASCII letters, and only of them', () => {
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
  ])('accepts the one author %s', (value) => {
    expect(namesOnlyItself(value, account)).toBe(true);
  });

  it.each([
    ['somebody else', 'eve@b.test'],
    ['nobody', ''],
    ['two authors', 'ada@b.test, eve@b.test'],
    ['a megabyte of quotes before the right address', `${'"\\'.repeat(300_000)}<ada@b.test>`],
    ['a group', 'Staff: ada@b.test;'],
    ['an empty group', 'undisclosed:;'],
    ['two addresses in brackets', '<eve@b.test> <ada@b.test>'],
    ['an address before the brackets', 'eve@b.test <ada@b.test>'],
    ['an address behind the brackets', '<ada@b.test> eve@b.test'],
    ['a comment that another parser may take for the address', 'ada@b.test (eve@b.test)'],
    ['a comment inside of the address', 'ada(x)@b.test'],
    ['a route', '<@eve.test:ada@b.test>'],
    ['a quotation that is not closed', '"eve@b.test <ada@b.test>'],
    ['a NUL', 'eve\0 <ada@b.test\0>'],
  ])('refuses %s', (_, value) => {
    expect(namesOnlyItself(value, account)).toBe(false);
  });
});
