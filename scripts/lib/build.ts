import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { withProgress } from '../../src/platform/base/progress.ts';
import { compiled, ROOT, runCommand } from './project.ts';

const DIST = path.join(ROOT, 'dist');
const STAMP = path.join(DIST, '.built');
const DOCUMENT = 'openapi.json';
const COMMANDS = ['src/cli/carillon.js', 'src/cli/carillon-api.js'];

/** Thrown when the compiler reports errors of syntax. It has already printed them. */
export class BuildError extends Error {}

function filesBelow(folder: string, suffix: string): string[] {
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix))
    .map((name) => path.join(folder, name));
}

function sources(): string[] {
  const files = ['src', 'migrations'].flatMap((folder) =>
    filesBelow(path.join(ROOT, folder), '.ts'),
  );
  return files.filter((file) => !file.endsWith('.spec.ts')).sort();
}

/**
 * Hash over the paths, sizes and modification times of everything the compiler reads. It changes
 * with every edited, added or removed file.
 */
function fingerprint(): string {
  const hash = createHash('sha256');
  const settings = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'].map((name) =>
    path.join(ROOT, name),
  );
  for (const file of [...sources(), ...settings]) {
    const { mtimeMs, size } = fs.statSync(file);
    hash.update(`${path.relative(ROOT, file)} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex');
}

function builtFingerprint(): string | undefined {
  return fs.existsSync(STAMP) ? fs.readFileSync(STAMP, 'utf8') : undefined;
}

/**
 * Deletes compiled files whose source no longer exists. A left-over migration would otherwise run.
 */
function prune(): void {
  const wanted = new Set(
    sources().map((file) => path.join(DIST, path.relative(ROOT, file)).replace(/\.ts$/, '.js')),
  );
  for (const output of filesBelow(DIST, '.js')) {
    if (wanted.has(output)) continue;
    fs.rmSync(output);
    fs.rmSync(`${output}.map`, { force: true });
  }
}

/** Copies what the compiled program reads: `carillon-api` checks requests against it. */
function copyDocument(): void {
  fs.mkdirSync(DIST, { recursive: true });
  fs.copyFileSync(path.join(ROOT, DOCUMENT), path.join(DIST, DOCUMENT));
}

/**
 * Compiles into `dist` if a source has changed since the last build. Types are not checked here,
 * because that takes three times as long; `npm run check:types` checks them.
 * @param force compiles in any case
 * @throws {BuildError} after the compiler has printed its errors
 */
export async function ensureBuilt({ force = false } = {}): Promise<void> {
  const wanted = fingerprint();
  copyDocument();
  if (!force && builtFingerprint() === wanted) return;
  fs.rmSync(STAMP, { force: true });
  const { code, output } = await withProgress('Building', () =>
    runCommand('node node_modules/typescript-7/bin/tsc -p tsconfig.build.json --noCheck', 'pipe'),
  );
  process.stderr.write(output);
  if (code !== 0) throw new BuildError('The build failed.');
  prune();
  for (const name of COMMANDS) {
    const file = path.join(DIST, name);
    if (fs.existsSync(file)) fs.chmodSync(file, 0o755);
  }
  // Writes the hash taken before compiling, so that a file edited meanwhile causes another build.
  fs.writeFileSync(STAMP, wanted);
}

/**
 * Builds if necessary, and runs the `main` function of a compiled module with the arguments of this
 * process.
 * @param name path below `src`, without extension
 */
export async function runCompiled(name: string): Promise<void> {
  try {
    await ensureBuilt();
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    process.exitCode = 1;
    return;
  }
  const { main } = (await import(compiled(name))) as {
    main(args: readonly string[]): Promise<void>;
  };
  await main(process.argv.slice(2));
}
