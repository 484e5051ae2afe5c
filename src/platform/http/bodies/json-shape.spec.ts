import fc from 'fast-check';
import { assertModestJson } from './json-shape.ts';

const check = (text: string) => () => assertModestJson(Buffer.from(text));
const LONG = `"${'x'.repeat(100_000)}"`;

describe('assertModestJson', () => {
  it.each([
    ['a long text', LONG],
    [
      'a long text that contains quotes, brackets and commas',
      JSON.stringify({ a: `\\"[{,"\\\\`.repeat(100_000) }),
    ],
    ['many values, but fewer than the limit', `[${'0,'.repeat(250_000)}0]`],
    ['many names, but fewer than the limit', `{${'"a":0,'.repeat(59_000)}"a":0}`],
    ['deep nesting in a small body', '['.repeat(10_000)],
  ])('accepts %s', (_, text) => {
    expect(check(text)).not.toThrow();
  });

  it.each([
    ['empty arrays', `[${'[],'.repeat(400_000)}0]`, 'has more than 300000 values'],
    ['numbers', `[${'0,'.repeat(400_000)}0]`, 'has more than 300000 values'],
    [
      'objects after a text that ends with a backslash',
      `["\\\\",${'{},'.repeat(400_000)}0]`,
      '300000 values',
    ],
    ['names', `{${'"a":0,'.repeat(60_000)}"a":0}`, 'each name of a field counts as 5'],
    ['arrays in arrays', '['.repeat(100_000), 'is nested deeper than 200 levels'],
    ['objects in objects', '{"a":'.repeat(100_000), 'is nested deeper than 200 levels'],
  ])('refuses too many %s', (_, text, message) => {
    expect(check(text)).toThrow(message);
  });

  it('never refuses a body with few values, whatever its texts contain', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (json) => {
        expect(check(`[${LONG},${json}]`)).not.toThrow();
      }),
    );
  });
});
