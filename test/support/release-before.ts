import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PARTS = [
  'package.json',
  'package-lock.json',
  '.npmrc',
  'tsconfig.json',
  'tsconfig.build.json',
  'nest-cli.json',
  'openapi.json',
  'scripts',
  'migrations',
  'src',
];
const run = promisify(execFile);

/** A compiled program: this one, or the release before it. */
export class Program {
  constructor(private readonly folder: string) {}

  /** The compiled file that starts a server. */
  get entry(): string {
    return path.join(this.folder, 'dist/src/main.js');
  }

  /** Runs one of its commands. @returns what the command printed */
  async command(
    name: 'carillon' | 'migrate',
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<string> {
    const file = path.join(this.folder, `dist/src/cli/${name}.js`);
    const env = { PATH: process.env['PATH'], ...environment };
    return (await run(process.execPath, [file, ...args], { env })).stdout;
  }
}

/** The program of this working tree. It must be built. */
export const thisRelease = (): Program => new Program(ROOT);

/**
 * The release before this one, built from the commit that `deploy/upgrade/from.json` names, with
 * its own packages from the registry: this release may have removed or replaced some of them. It is
 * built once and kept in the folder for temporary files.
 * @throws Error if the repository does not have the commit
 */
export async function releaseBefore(): Promise<Program> {
  const { commit } = JSON.parse(
    readFileSync(path.join(ROOT, 'deploy/upgrade/from.json'), 'utf8'),
  ) as { commit: string };
  const folder = path.join(os.tmpdir(), `carillon-release-${commit}`);
  if (!existsSync(folder)) await build(commit, folder);
  return new Program(folder);
}

async function build(commit: string, folder: string): Promise<void> {
  const made = mkdtempSync(path.join(os.tmpdir(), 'carillon-release-'));
  try {
    await unpack(commit, made);
    await run('npm', ['ci'], { cwd: made });
    await run(process.execPath, ['scripts/run.mjs', 'build'], { cwd: made });
    renameSync(made, folder);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    throw error;
  }
}

/** Writes the files of a commit into a folder. The working tree stays as it is. */
function unpack(commit: string, into: string): Promise<void> {
  const archive = spawn('git', ['archive', commit, ...PARTS], { cwd: ROOT });
  const tar = spawn('tar', ['-x', '-C', into]);
  archive.stdout.pipe(tar.stdin);
  let errors = '';
  archive.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  return new Promise((resolve, reject) => {
    archive.once('close', (code) => {
      if (code !== 0)
        reject(
          new Error(
            `commit ${commit} is not there; in a shallow clone, fetch it: ${errors.trim()}`,
          ),
        );
    });
    tar.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`tar ended with ${code}`)),
    );
  });
}
