import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const RUNNER = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url));

/** The result of a script. */
export interface ScriptResult {
  code: number | null;
  /** Standard output and standard error in one text. */
  output: string;
}

/** A script of package.json that runs without npm around it. */
export interface RunningScript {
  child: ChildProcess;
  /** Resolves when `text` has been printed. Rejects if the script ends before that. */
  printed(text: string | RegExp): Promise<string>;
  ended: Promise<ScriptResult>;
}

/** Starts `npm run <name>` as a user would, with only PATH, HOME and `environment` set. */
export function startScript(
  name: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): RunningScript {
  return startProgram(process.execPath, [RUNNER, name, ...args], environment);
}

/**
 * Starts a program as a user would, with only PATH, HOME and `environment` set.
 * @param cwd the folder that it runs in; this tree if absent
 */
export function startProgram(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  cwd?: string,
): RunningScript {
  const { PATH, HOME } = process.env;
  const child = spawn(command, args, {
    env: { PATH, HOME, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  });
  let output = '';
  const listeners = new Set<() => void>();
  const read = (chunk: Buffer): void => {
    output += chunk.toString();
    for (const listener of listeners) listener();
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const ended = new Promise<ScriptResult>((resolve) => {
    child.once('close', (code) => resolve({ code, output }));
  });
  return {
    child,
    ended,
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (output.search(text) === -1) return;
          listeners.delete(look);
          resolve(output);
        };
        listeners.add(look);
        look();
        void ended.then(({ code }) =>
          reject(new Error(`the script ended with ${code}: ${output}`)),
        );
      }),
  };
}

/** Runs a script to its end. */
export function runScript(
  name: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<ScriptResult> {
  return startScript(name, args, environment).ended;
}
