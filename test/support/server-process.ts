import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { assertNoSecretLogged, watchEnvironment } from './log-watch.ts';

const ENTRY = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
/** What processes that ended in order have compiled, for the next ones. */
const COMPILED = path.join(os.tmpdir(), 'carillon-test-compiled');
/** A bound against hanging: a process whose `LOG_LEVEL` hides the address never says it. */
const START_MS = 120_000;

/** A server in a process of its own, from the built program: one that can be killed. */
export interface ServerProcess {
  url: string;
  pid: number;
  /** Ends it like a power cut. */
  kill(): Promise<void>;
  /** Asks it to stop; resolves to its exit code. */
  stop(): Promise<number | null>;
  /** Takes the processor away from it, as a paused container or a swapping machine does. */
  pause(): void;
  resume(): void;
  /** Everything it has written so far. */
  output(): string;
}

/** How a process is started. */
export interface ServerProcessOptions {
  /** What Node runs instead of the program's own entry. */
  entry?: string;
  /** Arguments of Node itself. */
  nodeArguments?: readonly string[];
}

/**
 * @param environment needs DATABASE_URL and ENCRYPTION_KEYS; the port is chosen by the system
 * @throws Error when the process ends, or has not logged its address after two minutes. It is dead then.
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
      // Starting costs as much as hundreds of messages, and most of it is compiling.
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
  // Not `exit`: what it wrote last may still be on its way then.
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
    const limit = setTimeout(() => fail('has not said where it listens'), START_MS);
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
