import { authorshipOf } from './author.ts';
import { headerFields } from './reading/header-fields.ts';

const read = (...lines: readonly string[]) => {
  const header = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
  return authorshipOf(headerFields(header), header);
};
const authorOf = (...lines: readonly string[]) => read(...lines).author;
const BOSS = 'From: Boss <boss@corp.test>';
const base64 = (text: string) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`;

describe('the author of a message', () => {
  it.each([
    ['a bare address', 'From: BOSS@Corp.test'],
    ['a name and an address', 'From: Boss <boss@corp.test>'],
    ['an obsolete space in front of the colon', 'From : Boss <boss@corp.test>'],
    ['a folded field', 'From: "Boss,\r\n Big" \r\n\t<boss@corp.test>'],
    ['a comment as the name', 'From: boss@corp.test (Big Boss)'],
    ['a comment with a comma', 'From: Alice (Sales, EMEA: all) <boss@corp.test>'],
    ['a name with a comma', 'From: Boss, Big <boss@corp.test>'],
    ['a comma at the end', 'From: Boss <boss@corp.test>, '],
    ['a colon in an encoded word', 'From: =?utf-8?Q?Foo:_Bar?= <boss@corp.test>'],
    ['an encoded name', `From: ${base64('Böss, Big')} <boss@corp.test>`],
    ['a name that is the address', 'From: "\'boss@corp.test\'" <boss@corp.test>'],
    ['an unquoted name that is the address', 'From: boss@corp.test <Boss@Corp.test>'],
  ])('is known from %s', (_, from) => {
    expect(authorOf(from, 'Subject: x')).toBe('boss@corp.test');
  });

  it('is another person if only the name of the author is that of somebody', () => {
    expect(authorOf('From: Boss <eve@ext.test>')).toBe('eve@ext.test');
  });

  it.each([
    ['two addresses', 'From: Boss <boss@corp.test>, Eve <eve@ext.test>'],
    ['the same address twice', 'From: boss@corp.test, boss@corp.test'],
    ['two thousand addresses', `From: ${'boss@corp.test, '.repeat(2_000)}eve@ext.test`],
    ['a semicolon', 'From: Boss <boss@corp.test>; Eve <eve@ext.test>'],
    ['a group', 'From: Staff: Boss <boss@corp.test>;'],
    ['an empty group', 'From: Staff:;'],
    ['two addresses in brackets', 'From: <eve@ext.test> <boss@corp.test>'],
    ['brackets in brackets', 'From: Boss <<boss@corp.test>>'],
    ['an address after the brackets', 'From: Boss <boss@corp.test> eve@ext.test'],
    ['a name that is another address', 'From: "eve@ext.test" <boss@corp.test>'],
    ['a name with another address', 'From: "Boss (eve@ext.test)" <boss@corp.test>'],
    ['an unquoted name with another address', 'From: eve@ext.test <boss@corp.test>'],
    [
      'an encoded name with another address',
      `From: ${base64('Eve <eve@ext.test>')} <boss@corp.test>`,
    ],
    ['an encoded word for the address', `From: ${base64('boss@corp.test')}`],
    ['an encoded word in the address', `From: <${base64('boss')}@corp.test>`],
    ['an encoded comma between addresses', `From: ${base64('boss@corp.test,')} <eve@ext.test>`],
    ['a comment with another address', 'From: boss@corp.test (eve@ext.test)'],
    ['a comment in the address', 'From: boss(eve)@corp.test'],
    ['a comment in a comment', 'From: boss@corp.test (a (b <eve@ext.test>) c)'],
    ['a route', 'From: <@ext.test:boss@corp.test>'],
    ['an open quotation', 'From: "eve@ext.test <boss@corp.test>'],
    ['a quoted local part', 'From: <"boss"@corp.test>'],
    ['an escaped quotation mark', 'From: "a\\" <eve@ext.test>, "b" <boss@corp.test>'],
    ['a NUL', 'From: Boss\0 <boss@corp.test>'],
    ['an empty field', 'From: '],
  ])('is unknown for %s', (_, from) => {
    expect(authorOf(from, 'Subject: x')).toBeNull();
  });

  it.each([
    ['no From', ['Sender: boss@corp.test', 'Reply-To: boss@corp.test']],
    ['two From fields', [BOSS, 'From: Eve <eve@ext.test>']],
    ['the same field twice', [BOSS, BOSS]],
    ['a second field with a space in front of the colon', [BOSS, 'FROM : eve@ext.test']],
    ['a second field behind a lone CR', ['Subject: x\rFrom: eve@ext.test', BOSS]],
    [
      'a second field behind 20,000 others',
      [BOSS, ...Array(20_000).fill('X: y'), 'From: a@b.test'],
    ],
    ['a header that may be cut off', [BOSS, `X: ${'y'.repeat(300_000)}`]],
    ['a message that another person has sent again', [BOSS, 'Resent-From: eve@ext.test']],
    ['a message sent again by several', [BOSS, 'Resent-Sender: boss@corp.test, eve@ext.test']],
    [
      'a failed DMARC check',
      [BOSS, 'Authentication-Results: mx;\r\n spf=pass;\r\n\tDMARC=fail (p=none)'],
    ],
  ])('is unknown for %s', (_, lines) => {
    expect(authorOf(...(lines as string[]))).toBeNull();
  });

  it.each([
    ['a Sender that differs', ['Sender: Calendar <calendar-notification@service.test>']],
    ['a Reply-To that differs', ['Reply-To: eve@ext.test']],
    ['a message that the author has sent again', ['Resent-From: Boss <boss@corp.test>']],
    ['a passed DMARC check', ['Authentication-Results: mx; dmarc=pass', 'Subject: dmarc=fail']],
    ['an automatic message', ['Auto-Submitted: auto-replied', 'Return-Path: <>']],
    [
      'From in the text of another field',
      ['Subject: x\r\n From: eve@ext.test', 'X-From: a@b.test'],
    ],
  ])('stays known in spite of %s', (_, lines) => {
    expect(authorOf(BOSS, ...(lines as string[]))).toBe('boss@corp.test');
  });
});

describe('an automatic message', () => {
  it.each([
    'Auto-Submitted: auto-replied',
    'auto-submitted: (by vacation) AUTO-Generated; owner-email="x"',
    'Return-Path: <>',
    'X-Autoreply: yes',
    'X-Autorespond: Out of office',
    'Precedence: auto_reply',
    'Precedence: junk',
    'Precedence: bulk\r\nList-Post: NO',
    'X-Auto-Response-Suppress: All',
  ])('says so by %j', (lines) => {
    expect(read(BOSS, lines).isAutomatic).toBe(true);
  });

  it.each([
    'Auto-Submitted: no',
    'Auto-Submitted: no; x=y',
    'Auto-Submitted:',
    'Auto-Submitted: (comment) no',
    'Return-Path: <boss@corp.test>',
    'X-Autoreply: no',
    'Precedence: list',
    'Precedence: bulk\r\nList-Post: <mailto:team@lists.test>',
    'X-Auto-Response-Suppress: OOF, AutoReply',
    'Subject: Auto-Submitted: auto-replied',
  ])('is not one with %j', (lines) => {
    expect(read(BOSS, lines).isAutomatic).toBe(false);
  });
});
