import { describe, expect, it } from '@jest/globals';
import { decodeText } from './stored-text.ts';

const text = { type: 'text/plain', charset: '', encoding: '', format: '', delSp: '' } as const;

describe('decodeText', () => {
  it.each([
    ['utf-8', 'base64', Buffer.from(Buffer.from('Grüße').toString('base64'))],
    ['iso-8859-1', 'quoted-printable', Buffer.from('Gr=FC=DFe')],
    ['windows-1252', '8bit', Buffer.from('Grüße', 'latin1')],
  ])('decodes %s in %s', async (charset, encoding, stored) => {
    expect((await decodeText({ ...text, charset, encoding, bytes: stored })).trim()).toBe('Grüße');
  });

  it.each(['klingon', '"; x="', 'utf-8\r\nX: y', '\u0000'])(
    'returns the readable text for the charset %j',
    async (charset) => {
      expect(
        await decodeText({ ...text, charset, encoding: 'uuencode', bytes: Buffer.from('plain') }),
      ).toContain('plain');
    },
  );

  it('decodes base64 that was cut at any point', async () => {
    const encoded = Buffer.from(Buffer.from('x'.repeat(1_000)).toString('base64'));
    for (const end of [0, 1, 2, 3, 5, 77]) {
      const decoded = await decodeText({
        ...text,
        encoding: 'base64',
        bytes: encoded.subarray(0, end),
      });
      expect('x'.repeat(1_000)).toContain(decoded.trim().slice(0, Math.floor((end * 3) / 4)));
    }
  });
});
