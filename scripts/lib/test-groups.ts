import fs from 'node:fs';
import path from 'node:path';
import { NIGHTLY, requireNamedTests, STORMS_OF_A_PUSH } from './nightly-tests.ts';
import { ROOT } from './project.ts';

/** Folder of the generated groups; jest.config.js also names it. */
const FOLDER = path.join(ROOT, 'test/.groups');

/**
 * Files that take as long as a group of others. Each is a group of its own, and they start first.
 */
const LONGEST: readonly string[] = [
  'test/e2e/held-writes.e2e-spec.ts',
  'test/e2e/bad-input.e2e-spec.ts',
];

/**
 * Tiers, with the number of groups that the files of each tier are divided into. Groups of
 * different tiers alternate, because some tiers mostly wait and others mostly compute. Short groups
 * start last, so that all processors have something to do until the end.
 */
const TIERS = [
  { name: 'providers', folder: 'test/providers', ending: '.providers-spec.ts', groups: 2 },
  { name: 'hostile', folder: 'test/hostile', ending: '.hostile-spec.ts', groups: 2 },
  { name: 'medium', folder: 'test/medium', ending: '.medium-spec.ts', groups: 2 },
  { name: 'e2e', folder: 'test/e2e', ending: '.e2e-spec.ts', groups: 4 },
  { name: 'sdk', folder: 'test/sdk', ending: '.sdk-spec.ts', groups: 1 },
  { name: 'unit', folder: 'src', ending: '.spec.ts', groups: 1 },
] as const;
const SHORT = [
  { name: 'support', folder: 'test/support', ending: '.spec.ts' },
  { name: 'structure', folder: 'test/structure', ending: '.spec.ts' },
] as const;

/**
 * Writes the groups: files that import several spec files each. Jest loads all modules anew for
 * every file, and loading the program takes longer than most files' tests. With groups, a full run
 * loads the program once for each group. Every spec file belongs to exactly one group, except
 * nightly ones.
 * @throws Error if a named test is missing
 */
export function writeTestGroups(): void {
  requireNamedTests();
  fs.rmSync(FOLDER, { recursive: true, force: true });
  fs.mkdirSync(FOLDER, { recursive: true });
  const alone = (name: string, files: readonly string[]) =>
    files.map((file): [name: string, files: string[]] => [name, [file]]);
  const groups = [...alone('longest', LONGEST), ...alone('storm', STORMS_OF_A_PUSH)];
  const tiers = TIERS.map((tier) => ({
    name: tier.name,
    hands: dealt(filesOf(tier.folder, tier.ending), tier.groups),
  }));
  for (let round = 0; round < Math.max(...tiers.map(({ hands }) => hands.length)); round += 1) {
    for (const { name, hands } of tiers) {
      const files = hands[round];
      if (files) groups.push([name, files]);
    }
  }
  for (const { name, folder, ending } of SHORT) groups.push([name, filesOf(folder, ending)]);
  for (const [index, [name, files]] of groups.entries()) {
    const lines = files.map((file) => `import '../../${file}';\n`);
    const number = String(index + 1).padStart(2, '0');
    fs.writeFileSync(path.join(FOLDER, `${number}-${name}.spec.ts`), lines.join(''));
  }
}

/**
 * Returns the spec files behind a file that Jest ran.
 * @param file a group or a spec file, relative to the project's folder
 * @param messages failure messages of Jest. For a group, only spec files that their stacks name
 *   are returned, or all files of the group if the stacks name none
 */
export function specFilesOf(file: string, messages: string): string[] {
  if (!path.join(ROOT, file).startsWith(FOLDER + path.sep)) return [file];
  const text = fs.readFileSync(path.join(ROOT, file), 'utf8');
  const files = [...text.matchAll(/^import '\.\.\/\.\.\/(.+)';$/gm)].map(([, name = '']) => name);
  const named = files.filter((name) => messages.includes(name));
  return named.length > 0 ? named : files;
}

/**
 * Returns the spec files of a tier that run for every push, relative to the project's folder, the
 * largest first.
 */
function filesOf(folder: string, ending: string): string[] {
  const files = fs
    .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => `${folder}/${file}`);
  if (files.length === 0) throw new Error(`There are no tests in ${folder}`);
  const size = (file: string) => fs.statSync(path.join(ROOT, file)).size;
  const others = files.filter((file) => !LONGEST.includes(file) && !NIGHTLY.includes(file));
  return others.toSorted((a, b) => size(b) - size(a));
}

/**
 * Divides files into groups, forwards and backwards in turn, so that no group gets the largest file
 * of each round.
 */
function dealt(files: readonly string[], groups: number): string[][] {
  const hands: string[][] = Array.from({ length: groups }, () => []);
  for (const [index, file] of files.entries()) {
    const place = index % (2 * groups);
    hands[Math.min(place, 2 * groups - 1 - place)]?.push(file);
  }
  return hands;
}
