import { describe, expect, it } from '@jest/globals';
import { decodeCharset } from './charset.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');
const utf8 = 'Gr\xc3\xbc\xc3\x9fe';

describe('decodeCharset', () => {
  it.each([
    ['', utf8],
    ['us-ascii', utf8],
    ['unknown-8bit', utf8],
    ['utf8', utf8],
    ['x-unknown', utf8],
    ['iso-8859-1', 'Gr\xfc\xdfe'],
    ['ISO_8859-1:1987', 'Gr\xfc\xdfe'],
    ['cp850', 'Gr\x81\xe1e'],
    ['IBM437', 'Gr\x81\xe1e'],
    ['x-cp1252', 'Gr\xfc\xdfe'],
    ['utf-7', 'Gr+APwA3w-e'],
    ['unicode-1-1-utf-7', 'Gr+APwA3w-e'],
    ['utf-16', '\xff\xfeG\0r\0\xfc\0\xdf\0e\0'],
  ])('reads the charset %j', (label, text) => {
    expect(decodeCharset(bytes(text), label)).toEqual({ text: 'Grüße', certain: true });
  });

  it.each([
    ['iso-2022-kr', '\x1b$)C\x0e>H3g\x0f ok\r\n\x0e>H3g', '안녕 ok\r\n안녕'],
    ['ks_c_5601-1987', '\xbe\xc8\xb3\xe7', '안녕'],
    ['hz-gb-2312', 'a~~~{<:Ky2;S{~}b~\nc', 'a~己所不欲bc'],
    ['cp936', '\xbc\xba', '己'],
    ['', '\x1b$B$"\x1b(B', 'あ'],
    ['cp866', '\x8f\xe0', 'Пр'],
    ['cp855', '\xdd', 'П'],
    ['_iso-2022-jp$ESC', '\x1b$B$"\x1b(B', 'あ'],
  ])('reads %s', (label, text, expected) => {
    expect(decodeCharset(bytes(text), label).text).toBe(expected);
  });

  it.each([
    ['klingon', 'Gr\xfc\xdfe', 'Grüße'],
    ['', 'Gr\xfc\xdfe', 'Grüße'],
    ['us-ascii', '\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0', 'Привет, мир'],
    ['', '\xf0\xd2\xc9\xd7\xc5\xd4, \xcd\xc9\xd2', 'Привет, мир'],
    ['utf-8', 'Gr\xfc\xdfe', 'Grüße'],
  ])('guesses the charset of a text that does not fit %j', (label, text, expected) => {
    expect(decodeCharset(bytes(text), label)).toEqual({ text: expected, certain: false });
  });

  it.each(['iso-2022-jp', 'euc-kr', 'big5', 'utf-16', 'utf-16be'])(
    'reads UTF-8 that is labelled %s as UTF-8, and says that this is a guess',
    (label) => {
      for (const text of ['Grüße', 'Grüße!', 'Привет, мир', '안녕하세요, 세계'])
        expect(decodeCharset(Buffer.from(text), label)).toEqual({ text, certain: false });
    },
  );

  it('says if bytes do not fit the charset that is named', () => {
    const text = bytes('\xbe\xc8\xff');
    expect(decodeCharset(text, 'euc-kr')).toEqual({ text: '안\ufffd', certain: false });
    expect(decodeCharset(bytes('\x1b$B$\xff'), '').certain).toBe(false);
  });

  it('reads UTF-16 without a mark, also in words without a blank', () => {
    for (const text of ['Grüße', '中文', 'Привет'])
      expect(decodeCharset(Buffer.from(text, 'utf16le'), 'utf-16')).toEqual({
        text,
        certain: true,
      });
  });

  it.each(['utf-8', '', 'us-ascii', 'x-unknown', 'klingon'])(
    'keeps UTF-8 in which a byte is broken, under the name %j',
    (label) => {
      expect(decodeCharset(bytes(`${utf8} \xff`), label)).toEqual({
        text: 'Grüße \ufffd',
        certain: false,
      });
    },
  );

  it('uses the charset of an HTML text, and the one of another part before it guesses', () => {
    const page =
      '<html><head><META http-equiv=Content-Type content="text/html; charset=koi8-r"></head>\xf0\xd2\xc9';
    expect(decodeCharset(bytes(page), '', { html: true }).text).toContain('При');
    expect(decodeCharset(bytes('\xcf'), '', { other: 'windows-1251' }).text).toBe('П');
  });

  it('allows an incomplete character at the end of a text that was cut off, and only there', () => {
    const cut = bytes('Gr\xc3\xbc\xc3');
    expect(decodeCharset(cut, 'utf-8', { isCut: true })).toEqual({ text: 'Grü', certain: true });
    const korean = bytes('\xbe\xc8\xb3');
    expect(decodeCharset(korean, 'euc-kr', { isCut: true }).certain).toBe(true);
    expect(decodeCharset(korean, 'euc-kr').certain).toBe(false);
    expect(decodeCharset(bytes('Caf\xe9'), '').text).toBe('Café');
  });
});
