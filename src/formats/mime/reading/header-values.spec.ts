import { describe, expect, it } from '@jest/globals';
import { readAddresses } from './address-list.ts';
import { decodeWords } from './encoded-words.ts';
import { headerFields, headerText, valuesOf } from './header-fields.ts';
import { readMessageIds } from './message-ids.ts';
import { fileNameOf, readStructured } from './parameters.ts';

describe('values of header fields', () => {
  it.each([
    ['ada@x.test (a (b) c)', ['a  c <ada@x.test>']],
    ['Ada (of (the) x) <ada@x.test>, bo@x.test', ['Ada <ada@x.test>', ' <bo@x.test>']],
    ['<@r.test,@s.test:ada@x.test>', [' <ada@x.test>']],
    ['"a (b" <ada@x.test>', ['a (b <ada@x.test>']],
    ['"<@r.test:x" <ada@x.test>', ['<@r.test:x <ada@x.test>']],
    ['Team: ada@x.test, Bo <bo@x.test>;', [' <ada@x.test>', 'Bo <bo@x.test>']],
    ['=?cp850?Q?Gr=81n?= <ada@x.test>', ['Grün <ada@x.test>']],
    ['=?utf-8?q?a=3B?= <ada@x.test>', ['a; <ada@x.test>']],
    ['nobody', []],
    ['Mail Delivery System <MAILER-DAEMON>', ['Mail Delivery System <MAILER-DAEMON>']],
    ['Bob <bob.example.com>', ['Bob <bob.example.com>']],
    ['"a\\"b" <ada@x.test>, "c <bo@x.test>', ['a"b <ada@x.test>', 'c <bo@x.test>']],
    ['Doe, Jane <jane@x.test>, bo@x.test', ['Doe, Jane <jane@x.test>', ' <bo@x.test>']],
    ['nobody, bo@x.test', [' <bo@x.test>']],
    [
      '"Doe, J" <j@x.test>, "Bo <bo@x.test>, c@x.test',
      ['Doe, J <j@x.test>', 'Bo <bo@x.test>', ' <c@x.test>'],
    ],
    ['Jane <mailto:jane@x.test>, SMTP:bo@x.test', ['Jane <jane@x.test>', ' <bo@x.test>']],
    ['jane @ x.test, "jane doe"@x.test', [' <jane@x.test>', ' <"jane doe"@x.test>']],
    ['(not closed <ada@x.test>', ['not closed < > <ada@x.test>']],
  ])('the addresses in %j', (field, expected) => {
    expect(readAddresses(field).map(({ name, address }) => `${name} <${address}>`)).toEqual(
      expected,
    );
  });

  it.each([
    ['<a@\t b>', ['<a@b>']],
    ['bare@host', ['<bare@host>']],
    ['bare', ['<bare>']],
    ['Your mail of "Tue" from ada@x.test <a@b>', ['<a@b>']],
    ['Your mail of Tuesday', []],
    ['a@b c@d', ['<a@b>', '<c@d>']],
    ['', []],
    [`<${'x'.repeat(60)}>`, []],
  ])('the Message-IDs in %j', (field, expected) => {
    expect(readMessageIds(field, 50)).toEqual(expected);
  });

  it.each([
    [
      'text/plain; charset="utf-8"; format=flowed',
      'text/plain',
      { charset: 'utf-8', format: 'flowed' },
    ],
    ['TEXT/HTML charset=utf-8 format=flowed', 'text/html', { charset: 'utf-8', format: 'flowed' }],
    ['text/plain (a; b); charset=x (c)', 'text/plain', { charset: 'x' }],
    [
      'attachment; filename=my report (1).pdf; size=3',
      'attachment',
      { filename: 'my report (1).pdf', size: '3' },
    ],
    ['attachment; filename="a\\"b; c=d.txt"', 'attachment', { filename: 'a"b; c=d.txt' }],
    [
      "attachment; filename*0*=utf-8''%C3; filename*1*=%A4; filename*2=%41",
      'attachment',
      { filename: 'ä%41' },
    ],
    ["attachment; filename*=iso-8859-1'de'%E4.txt", 'attachment', { filename: 'ä.txt' }],
    ['inline; a=1; a=2; flag; b = 3', 'inline', { a: '1', b: '3' }],
    ['filename=x.txt', '', { filename: 'x.txt' }],
    ['', '', {}],
  ])('the parameters in %j', (field, value, parameters) => {
    const read = readStructured(field);
    expect([read.value, Object.fromEntries(read.parameters)]).toEqual([value, parameters]);
  });

  it('a name of a file is decoded', () => {
    const { parameters } = readStructured('attachment; filename="=?utf-8?Q?=C3=A4?= .txt"');
    expect(fileNameOf(parameters, 'filename')).toBe('ä .txt');
  });

  it.each([
    ['=?utf-8?B?w7w=?= =?utf-8?B?w58=?=', 'üß'],
    ['=?utf-8?Q?=C3?= =?utf-8?Q?=BC?=', 'ü'],
    ['=?iso-8859-1*de?Q?=FC_b?= x', 'ü b x'],
    ['=?utf-7?Q?+APw-?=', 'ü'],
    ['=?utf-8?Q?a?=', 'a'],
    ['=?x', '=?x'],
  ])('the words in %j', (text, expected) => {
    expect(decodeWords(text)).toBe(expected);
  });

  it('raw fields are read in UTF-8, in the charset of the text, or in the likeliest', () => {
    const header = 'Subject: Gr\xfc\xdfe\r\nX-A: \xc3\xbc\r\n folded\r\nno field\r\nx-a: 2\r\n';
    const fields = headerFields(Buffer.from(header, 'latin1'));
    expect(valuesOf(fields, 'subject')).toEqual(['Grüße']);
    expect(valuesOf(fields, 'x-a')).toEqual(['ü folded', '2']);
    expect(headerText(Buffer.from(header, 'latin1'))).toContain(
      'Subject: Grüße\r\nX-A: ü\r\n folded',
    );
    const greek = 'Content-Type: text/plain; charset=iso-8859-7\r\nSubject: \xe1\r\n';
    expect(valuesOf(headerFields(Buffer.from(greek, 'latin1')), 'subject')).toEqual(['α']);
  });
});
