import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { assertNoSecretLogged, watchEnvironment } from './log-watch.ts';

const ENTRY = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
/** Code cache of processes that ended in order. Later processes reuse it. */
const COMPILED = path.join(os.tmpdir(), 'carillon-test-compiled');
/** Limit for a start that hangs. A process whose `LOG_LEVEL` hides the address never prints it. */
const START_MS = 120_000;

/** A server of the built program in a separate process, which tests can kill. */
export interface ServerProcess {
  url: string;
  pid: number;
  /** Kills the process without warning, like a power cut. */
  kill(): Promise<void>;
  /** Asks the process to stop. Resolves to its exit code. */
  stop(): Promise<number | null>;
  /** Suspends the process, as a paused container or a swapping machine does. */
  pause(): void;
  resume(): void;
  /** Everything the process has written so far. */
  output(): string;
}

/** Argument of Node's `--import`: sets the clock of the process five seconds ahead. */
export const FIVE_SECONDS_AHEAD =
  'data:text/javascript,const real = Date.now; Date.now = () => real() + 5000;';

/** Address of the port of operators of a process that was started with `OPERATOR_PORT`. */
export function operatorsOf(process: ServerProcess): string {
  const [, port] = /for operators on port (\d+)/.exec(process.output()) ?? [];
  return `http://127.0.0.1:${port}`;
}

/** How a process is started. */
export interface ServerProcessOptions {
  /** The file that Node runs instead of the program's entry point. */
  entry?: string;
  /** Arguments for Node itself. */
  nodeArguments?: readonly string[];
}

/**
 * @param environment needs DATABASE_URL and ENCRYPTION_KEYS; the system chooses the port
 * @throws Error if the process ends, or has not logged its address after two minutes; the process
 *   is then killed
 */
export async function startServerProcess(
  environment: Readonly<Record<string, string>>,
  { entry = ENTRY, nodeArguments = [] }: ServerProcessOptions = {},
): Promise<ServerProcess> {
  if (!existsSync(ENTRY))
    throw new Error('the program is not built: run npm run build (npm test does)');
  const child = spawn(process.execPath, [...nodeArguments, entry], {
    env: {
      PATH: process.env['PATH'],
      // A start costs as much as hundreds of messages, and most of that is compilation.
      NODE_COMPILE_CACHE: COMPILED,
      PORT: '0',
      LOG_LEVEL: 'info',
      RATE_LIMIT_ACCOUNT: '0',
      QUOTA_ACCOUNT_SMS: '0',
      QUOTA_ACCOUNT_REMINDERS: '0',
      QUOTA_APPLICATION_SMS: '0',
      QUOTA_APPLICATION_REMINDERS: '0',
      RATE_LIMIT_APPLICATION: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  watchEnvironment(environment);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  // Waits for `close`, not `exit`: at `exit` some output may still be on its way.
  const exited = new Promise<number | null>((resolve) =>
    child.once('close', (code) => resolve(code)),
  );
  const url = await listeningAt(child, () => output).catch(async (error: unknown) => {
    child.kill('SIGKILL');
    await exited;
    throw error;
  });
  return {
    url,
    pid: child.pid ?? 0,
    output: () => output,
    async kill() {
      child.kill('SIGKILL');
      await exited;
      assertNoSecretLogged(output);
    },
    async stop() {
      child.kill('SIGTERM');
      const code = await exited;
      assertNoSecretLogged(output);
      return code;
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
}

function listeningAt(child: ChildProcess, output: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (what: string) =>
      reject(new Error(`the server ${what}: ${output().slice(-2000)}`));
    const limit = setTimeout(() => fail('has not logged its address'), START_MS);
    const read = () => {
      const url = /http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d+/.exec(
        /listening[^\n]*/i.exec(output())?.[0] ?? '',
      );
      if (!url) return;
      clearTimeout(limit);
      for (const stream of [child.stdout, child.stderr]) stream?.off('data', read);
      resolve(url[0]);
    };
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', read);
    child.once('close', (code) => {
      clearTimeout(limit);
      fail(`ended with ${code}`);
    });
  });
}
