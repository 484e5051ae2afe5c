import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  decodeTransfer,
  type TransferEncoding,
  transferDecoder,
  transferEncodingOf,
} from './transfer-encoding.ts';

const decoded = (text: string, encoding: TransferEncoding) =>
  decodeTransfer(Buffer.from(text, 'latin1'), encoding).toString('latin1');

describe('a transfer encoding', () => {
  it.each([
    ['BASE64', 'base64'],
    [' "base64" (always)', 'base64'],
    ['Quoted-Printable', 'quoted-printable'],
    ['quoted/printable', 'quoted-printable'],
    ['8bit', 'identity'],
    ['', 'identity'],
    ['x-uuencode', 'identity'],
  ])('%j is %s', (field, encoding) => {
    expect(transferEncodingOf(field)).toBe(encoding);
  });

  it.each([
    ['aGVs\r\nbG8=', 'hello'],
    ['aGk=\r\naGk=', 'hihi'],
    ['aG*k=', 'hi'],
    ['aGkh====aGk', 'hi!hi'],
    ['', ''],
    ['aGk=\r\n\r\n____\r\nA footer', 'hi'],
    ['aGk= \n-- \nfooter', 'hi'],
    ['aGkh\r\n*aGk=', 'hi!hi'],
    [`aGk=\r\n${'aGkh'.repeat(500)}*`, `hi${'hi!'.repeat(500)}`],
  ])('base64 %j is %j', (text, expected) => {
    expect(decoded(text, 'base64')).toBe(expected);
  });

  it.each([
    ['=00=ff=\r\nx', '\0\xffx'],
    ['a \t\r\nb=20\r\n', 'a\r\nb \r\n'],
    ['a= \r\nb', 'ab'],
    ['a=\nb', 'ab'],
    ['=zz=4', '=zz=4'],
    ['end=', 'end'],
    ['end  ', 'end'],
  ])('quoted-printable %j is %j', (text, expected) => {
    expect(decoded(text, 'quoted-printable')).toBe(expected);
  });

  it.each([
    ['a  b', 'a  b'],
    ['a \t\r\nb', 'a\r\nb'],
    ['a= \r\nb', 'ab'],
    ['a=3Db', 'a=b'],
  ])('reads the quoted-printable text %j wherever it is in a very long line', (text, expected) => {
    const longest = 1024 * 1024;
    for (let before = 0; before <= text.length; before += 1) {
      const line = 'x'.repeat(longest - before);
      expect(decoded(`${line}${text}`, 'quoted-printable') === `${line}${expected}`).toBe(true);
    }
  });

  it('gives the same bytes wherever its text is cut', () => {
    const piece = fc.constantFrom(
      'aGk=',
      'aGk=\r\n',
      '*',
      'QUJD',
      '=41',
      '=',
      ' ',
      '\r\n',
      '\n',
      '=\r\n',
      'x',
      '\xe9',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }),
        fc.constantFrom<TransferEncoding>('base64', 'quoted-printable', 'identity'),
        fc.nat(40),
        (pieces, encoding, at) => {
          const bytes = Buffer.from(pieces.join(''), 'latin1');
          const decoder = transferDecoder(encoding);
          const parts = [bytes.subarray(0, at), bytes.subarray(at)].map((one) =>
            decoder.update(one),
          );
          const cut = Buffer.concat([...parts, decoder.end()]);
          expect(cut.toString('latin1')).toBe(decodeTransfer(bytes, encoding).toString('latin1'));
        },
      ),
    );
  });
});
