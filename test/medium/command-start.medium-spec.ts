import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from '../../scripts/lib/build.ts';
import { ROOT } from '../../scripts/lib/project.ts';
import { startProgram } from '../support/npm-script.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const COUNTER = fileURLToPath(new URL('../support/module-counter.mjs', import.meta.url));
const PACKAGE = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/**
 * Files of packages that a command may load. Only the server loads other packages. Each file takes
 * about 0.7 ms (docs/adr/0093).
 */
const PACKAGES = {
  commander: 7,
  'cli-table3': 12, // with the packages that measure the width of characters
  pg: 40, // with its own packages
  zod: 95,
  // The decorator `Injectable`, which needs the constants of Nest.
  '@nestjs/common': 2,
  'reflect-metadata': 1,
  uid: 1,
};
const FAMILY: Readonly<Record<string, RegExp>> = {
  'cli-table3':
    /^(cli-table3|string-width|strip-ansi|ansi-regex|is-fullwidth-code-point|emoji-regex)$/,
  pg: /^(pg|pg-.*|pgpass|postgres-.*|split2|xtend)$/,
};
const familyOf = (name: string): string =>
  Object.entries(FAMILY).find(([, names]) => names.test(name))?.[0] ?? name;

describe('the start of the commands', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-start-'));
  const key = `test:${randomBytes(32).toString('base64')}`;
  let database: TestDatabase;

  beforeAll(async () => {
    await ensureBuilt();
    database = await createTestDatabase();
  });
  afterAll(async () => {
    fs.rmSync(folder, { recursive: true });
    await database.drop();
  });

  /** Modules that a command loads: those of Carillon itself, and those of packages by name. */
  async function modulesOf(program: string, line: string) {
    const file = path.join(folder, 'modules');
    const script = path.join(ROOT, 'dist/src/cli', `${program}.js`);
    const { code, output } = await startProgram(
      process.execPath,
      ['--import', COUNTER, script, ...line.split(' ')],
      { MODULES_FILE: file, DATABASE_URL: database.url, ENCRYPTION_KEYS: key },
    ).ended;
    if (code !== 0) throw new Error(`${program} ${line} ended with ${code}: ${output}`);
    const packages: Record<string, number> = {};
    let own = 0;
    for (const url of fs.readFileSync(file, 'utf8').split('\n')) {
      const name = PACKAGE.exec(url)?.[1];
      if (name === undefined) own += url.includes('/dist/') ? 1 : 0;
      else packages[familyOf(name)] = (packages[familyOf(name)] ?? 0) + 1;
    }
    return { own, packages };
  }

  function expectFew(
    loaded: Awaited<ReturnType<typeof modulesOf>>,
    own: number,
    allowed: Partial<typeof PACKAGES>,
  ): void {
    const tooMany = Object.entries(loaded.packages).filter(
      ([name, count]) => count > (allowed[name as keyof typeof allowed] ?? 0),
    );
    expect(tooMany).toEqual([]);
    expect(loaded.own).toBeLessThanOrEqual(own);
  }

  it('of carillon-api is also that of api <group> <method>, in a clone and through a link on the path', async () => {
    const link = path.join(folder, 'api');
    fs.symlinkSync(path.join(ROOT, 'bin/api'), link);
    const help = async (program: string) =>
      startProgram(program, ['messages', 'get', '--help'], {}).ended;
    const expected = await help(path.join(ROOT, 'bin/carillon-api'));
    expect(expected).toMatchObject({ code: 0, output: expect.stringContaining('--limit') });
    for (const program of [path.join(ROOT, 'bin/api'), link])
      expect(await help(program)).toEqual(expected);
  });

  it('of the published package is under names that belong to no other package', () => {
    const { bin } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
      bin: object;
    };
    expect(Object.keys(bin)).toEqual(['carillon', 'carillon-api']);
  });

  it.each([
    ['carillon', '--help'],
    ['carillon', '--version'],
    ['carillon', 'jobs list --help'],
    ['carillon', '__complete carillon'],
    ['carillon-api', '--help'],
    ['carillon-api', 'messages get --help'],
  ])('%s %s loads only the packages of the command line', async (program, line) => {
    const { commander, 'cli-table3': table } = PACKAGES;
    expectFew(await modulesOf(program, line), 40, { commander, 'cli-table3': table });
  });

  it.each([
    'account list',
    'application list',
    'audit list',
    'capacity',
    'instance show',
    'jobs list',
    'keys reseal',
    'log-level',
    'mailbox audits',
    'moves',
    'operator list',
    'quotas list',
    'quotas companies',
    'sms list',
    'watches',
    'webhooks list',
  ])('carillon %s loads services without Nest, the ORM, rxjs and OpenTelemetry', async (line) => {
    // Commands about webhooks also load what knows feeds and replays.
    expectFew(await modulesOf('carillon', line), line.startsWith('webhooks') ? 100 : 92, PACKAGES);
  });
});
