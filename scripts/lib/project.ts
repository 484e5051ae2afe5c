import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

/** Root folder of the project. */
export const ROOT = path.resolve(import.meta.dirname, '../..');

/**
 * Path of a compiled module, for `import()`.
 * @param name path below `src`, without extension
 */
export function compiled(name: string): string {
  return path.join(ROOT, 'dist/src', `${name}.js`);
}

/** Result of a command. */
export interface CommandResult {
  code: number;
  /** Standard output and error in the order they were written; empty with `inherit`. */
  output: string;
}

/**
 * Runs a command line in the project's folder, with node_modules/.bin first on the PATH, as npm
 * does.
 * @param stdio `inherit` prints the output, `pipe` collects it
 * @param limitMs milliseconds after which the command and its children are killed; default: never
 */
export function runCommand(
  command: string,
  stdio: 'inherit' | 'pipe',
  environment: Record<string, string> = {},
  limitMs?: number,
): Promise<CommandResult> {
  const programs = path.join(ROOT, 'node_modules/.bin');
  return new Promise((resolve, reject) => {
    const child = spawn(command, {
      cwd: ROOT,
      env: {
        ...process.env,
        PATH: `${programs}${path.delimiter}${process.env['PATH'] ?? ''}`,
        ...environment,
      },
      shell: true,
      stdio: ['ignore', stdio, stdio],
      // A process group of its own can be killed as a whole.
      detached: limitMs !== undefined,
    });
    const limit =
      limitMs && setTimeout(() => child.pid && process.kill(-child.pid, 'SIGKILL'), limitMs);
    let output = '';
    const keep = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(limit);
      resolve({ code: code ?? 1, output });
    });
  });
}

/** Returns the command line of an npm script. */
export function npmScript(name: string): string {
  const { scripts } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const command = scripts[name];
  if (!command) throw new Error(`package.json has no script ${name}`);
  return command;
}
