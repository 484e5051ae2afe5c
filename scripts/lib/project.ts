import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

/** Folder of the clone. */
export const ROOT = path.resolve(import.meta.dirname, '../..');

/** Module of the compiled program: the address to give to `import()`. @param name path below `src`, without extension */
export function compiled(name: string): string {
  return path.join(ROOT, 'dist/src', `${name}.js`);
}

/** What a command did. */
export interface CommandResult {
  code: number;
  /** Standard output and error, in the order they came; empty with `inherit`. */
  output: string;
}

/**
 * Runs a command line in the project's folder, with the programs of node_modules first on the path, as npm does.
 * @param stdio `inherit` shows what it prints, `pipe` keeps it
 * @param limitMs milliseconds after which it is ended with all it has started; default: never
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
      // A group of its own can be ended as a whole.
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

/** The command line of an npm script. */
export function npmScript(name: string): string {
  const { scripts } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const command = scripts[name];
  if (!command) throw new Error(`package.json has no script ${name}`);
  return command;
}
