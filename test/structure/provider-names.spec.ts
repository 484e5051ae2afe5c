import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FEATURES = ['accounts', 'contacts', 'mail', 'calendar', 'sync', 'deltas'];
const NAME = /'(imap|google|microsoft|sandbox|gmail)'/;
/** Values of examples in the API description. */
const EXAMPLE = /^\s*(provider|proof|auth_name|provider_name): '\w+',$/;

/** Lines of a file that name a provider outside examples. */
function namingLines(path: string): string[] {
  const isSchema = path.endsWith('.schema.ts');
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => NAME.test(line) && !(isSchema && EXAMPLE.test(line)))
    .map((line) => `${path}: ${line.trim()}`);
}

describe('features', () => {
  it('name no provider: what they need of one is on its connector', () => {
    const files = FEATURES.flatMap((group) =>
      readdirSync(join('src', group), { recursive: true, encoding: 'utf8' }).map((file) =>
        join('src', group, file),
      ),
    ).filter((path) => path.endsWith('.ts') && !path.endsWith('.spec.ts'));
    expect(files.length).toBeGreaterThan(100);
    expect(files.flatMap(namingLines)).toEqual([]);
  });
});
