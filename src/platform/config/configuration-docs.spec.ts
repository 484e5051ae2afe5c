import fs from 'node:fs';
import { environmentSchema } from './app-config.ts';

const ROW = /^\| `([A-Z_]+)` \| (?:`([^`]*)`|–) \| (.+) \|$/gm;

describe('docs/configuration.md', () => {
  const text = fs.readFileSync('docs/configuration.md', 'utf8');
  const rows = [...text.matchAll(ROW)].map(([, name = '', value = '', meaning = '']) => ({
    name,
    value,
    meaning,
  }));

  it('describes every variable exactly once and names no unknown variable', () => {
    expect(rows.map(({ name }) => name).sort()).toEqual(
      Object.keys(environmentSchema.shape).sort(),
    );
  });

  it('gives the defaults that the program uses', () => {
    const defaults = environmentSchema.parse({});
    const expected = Object.entries(defaults).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    const documented = rows
      .filter(({ value }) => value !== '')
      .map(({ name, value }): [string, string] => [name, value]);
    expect(Object.fromEntries(documented)).toEqual(
      Object.fromEntries(expected.filter(([, value]) => value !== '')),
    );
  });
});
