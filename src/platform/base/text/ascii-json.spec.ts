import fc from 'fast-check';
import { asciiJson } from './ascii-json.ts';

describe('JSON in ASCII', () => {
  it('means the same as other JSON, for every text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const json = asciiJson({ [text]: text });
        expect(json).toMatch(/^[\0-\x7f]*$/);
        expect(JSON.parse(json)).toEqual({ [text]: text });
      }),
    );
    expect(asciiJson('für \u{1f600}')).toBe(String.raw`"f\u00fcr \ud83d\ude00"`);
  });
});
