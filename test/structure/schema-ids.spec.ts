import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const NAMED = /\.meta\(\{\s*id: '(\w+)'/g;

describe('schemas of requests and responses', () => {
  it('have different names: of two with one name, the OpenAPI document would show one for both', () => {
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join('src', file));
    const places = new Map<string, string[]>();
    for (const file of files)
      for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(NAMED))
        places.set(name, [...(places.get(name) ?? []), file]);
    expect(places.size).toBeGreaterThan(100);
    expect([...places].filter(([, found]) => found.length > 1)).toEqual([]);
  });
});
