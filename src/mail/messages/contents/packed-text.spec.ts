import { randomBytes } from 'node:crypto';
import { packText, unpackText } from './packed-text.ts';

const html = '<p style="margin:0">The figures are better than anybody had expected.</p>\n'.repeat(
  50,
);
/** All 128 characters of ASCII are equally frequent, so that hardly anything can be saved. */
const random = (length: number): string => {
  const characters = randomBytes(length).map((byte) => byte % 128);
  return Buffer.from(characters).toString('latin1');
};

describe('packed texts', () => {
  it.each([
    ['an empty text', ''],
    ['a short text', '<p>Hi</p>'],
    ['a long text', html],
    ['a text that cannot be compressed', random(2_000)],
    ['a text with all kinds of characters', `\u{1f600} \u0e40 ß ${html}`],
    ['5 MB', html.repeat(1_400)],
    ['a text that begins with a code unit of the mark of a frame', `(µ/ý${html}`],
  ])('give back %s', async (_what, text) => {
    const stored = await packText(text);
    expect(stored.bytes).toBe(Buffer.byteLength(text));
    expect((await unpackText(stored)) === text).toBe(true);
  });

  it('replace what is no character', async () => {
    expect(await unpackText(await packText('a \ud800 b \udfff c'))).toBe('a \ufffd b \ufffd c');
    expect(await unpackText(await packText(`\ud800${html}`))).toBe(`\ufffd${html}`);
  });

  it('are compressed if that makes them much smaller', async () => {
    const long = await packText(html);
    expect(long.packed.length).toBeLessThan(long.bytes / 10);
    const text = random(2_000);
    expect((await packText(text)).packed).toEqual(Buffer.from(text));
    expect((await packText(html.slice(0, 1_000))).packed).toEqual(
      Buffer.from(html.slice(0, 1_000)),
    );
  });

  it.each([html, html.repeat(100)])(
    'are refused if they are longer than their length says',
    async (text) => {
      const { packed, bytes } = await packText(text);
      await expect((async () => unpackText({ packed, bytes: bytes - 1 }))()).rejects.toThrow(
        /larger than/,
      );
    },
  );

  it('are refused if they are cut off', async () => {
    const { packed, bytes } = await packText(html);
    await expect(
      (async () => unpackText({ packed: packed.subarray(0, -5), bytes }))(),
    ).rejects.toThrow();
  });
});
