import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './project.ts';

/** Where the groups are written; `jest.config.js` knows the place. */
const FOLDER = path.join(ROOT, 'test/.groups');

/** Files that take longer than a group of others; each is a group of its own, and they begin. */
const LONGEST = ['test/e2e/bad-input.e2e-spec.ts', 'test/e2e/local-mode.e2e-spec.ts'];

/** Tiers, and in how many groups each one's files are dealt out. A group of each tier follows the other: some mostly wait, some compute. */
const TIERS = [
  { name: 'providers', folder: 'test/providers', ending: '.providers-spec.ts', groups: 3 },
  { name: 'hostile', folder: 'test/hostile', ending: '.hostile-spec.ts', groups: 2 },
  { name: 'medium', folder: 'test/medium', ending: '.medium-spec.ts', groups: 2 },
  { name: 'e2e', folder: 'test/e2e', ending: '.e2e-spec.ts', groups: 4 },
  { name: 'sdk', folder: 'test/sdk', ending: '.sdk-spec.ts', groups: 1 },
  { name: 'unit', folder: 'src', ending: '.spec.ts', groups: 1 },
  { name: 'structure', folder: 'test/structure', ending: '.spec.ts', groups: 1 },
] as const;

/**
 * Writes files that import several test files each. Jest gives every file modules of its own, and to load the program
 * takes longer than most files' tests: so a full run loads it once for each group. Every file belongs to exactly one.
 */
export function writeTestGroups(): void {
  fs.rmSync(FOLDER, { recursive: true, force: true });
  fs.mkdirSync(FOLDER, { recursive: true });
  const groups: [name: string, files: string[]][] = LONGEST.map((file) => ['longest', [file]]);
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
  for (const [index, [name, files]] of groups.entries()) {
    const lines = files.map((file) => `import '../../${file}';\n`);
    const number = String(index + 1).padStart(2, '0');
    fs.writeFileSync(path.join(FOLDER, `${number}-${name}.spec.ts`), lines.join(''));
  }
}

/**
 * The spec files behind a file that Jest ran.
 * @param file a group or a spec file, relative to the project's folder
 * @param messages what Jest reports of a failure; of a group, only the spec files that its stacks name are returned, if they name any
 */
export function specFilesOf(file: string, messages: string): string[] {
  if (!path.join(ROOT, file).startsWith(FOLDER + path.sep)) return [file];
  const text = fs.readFileSync(path.join(ROOT, file), 'utf8');
  const files = [...text.matchAll(/^import '\.\.\/\.\.\/(.+)';$/gm)].map(([, name = '']) => name);
  const named = files.filter((name) => messages.includes(name));
  return named.length > 0 ? named : files;
}

/** Test files of a tier, relative to the project's folder, the largest first. */
function filesOf(folder: string, ending: string): string[] {
  const files = fs
    .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => `${folder}/${file}`);
  if (files.length === 0) throw new Error(`There are no tests in ${folder}`);
  const size = (file: string) => fs.statSync(path.join(ROOT, file)).size;
  return files.filter((file) => !LONGEST.includes(file)).toSorted((a, b) => size(b) - size(a));
}

/** Deals back and forth, so that no group gets the largest file of each round. */
function dealt(files: readonly string[], groups: number): string[][] {
  const hands: string[][] = Array.from({ length: groups }, () => []);
  for (const [index, file] of files.entries()) {
    const place = index % (2 * groups);
    hands[Math.min(place, 2 * groups - 1 - place)]?.push(file);
  }
  return hands;
}
