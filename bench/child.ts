import { type ChildProcess, fork } from 'node:child_process';
import net from 'node:net';
import path from 'node:path';
import { ROOT } from '../scripts/lib/project.ts';

const START_LIMIT_MS = 60_000;
const ANSWER_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 30_000;
const KEPT_OUTPUT = 4_000;

/** A question to a child process and its answer (`bench/processes/serve.ts`). */
export interface Question {
  number: number;
  name: string;
  argument: unknown;
}
export interface Answer {
  number: number;
  value?: unknown;
  error?: string;
}

/** Returns a free port of the loopback interface. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as net.AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}

/**
 * Processes that run the program's own code, and the flags with which the image starts it (ADRs
 * 0103 and 0174). Other processes use Node's defaults.
 */
const PROGRAMS = ['dist/src/main.js', 'bench/processes/worker.ts'];
const PROGRAM_FLAGS = ['--max-semi-space-size=16', '--heap-growing-percent=100'];

/**
 * A process of a bench. Its output goes to /dev/null, except the last error output. It ends when
 * this process ends in any way, because the channel between them closes.
 */
export class BenchProcess {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  readonly #ready: Promise<unknown>;
  #lastWords = '';
  #asked = 0;

  /**
   * @param entry path below the repository
   * @param environment its whole environment, except PATH
   * @param profiles folder for its CPU profile, or `null` for none
   */
  constructor(
    entry: string,
    environment: Readonly<Record<string, string>>,
    profiles: string | null = null,
  ) {
    this.#name = entry;
    this.#child = fork(path.join(ROOT, entry), [], {
      cwd: ROOT,
      execArgv: [
        ...(PROGRAMS.includes(entry) ? PROGRAM_FLAGS : []),
        ...(profiles === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${path.resolve(profiles)}`]),
      ],
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#ready = this.#wait(0, 'its start', START_LIMIT_MS);
    // Callers of `ready()` get the error. Without a caller, the rejection must not end the bench.
    this.#ready.catch(() => undefined);
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#lastWords = (this.#lastWords + chunk.toString()).slice(-KEPT_OUTPUT);
    });
    this.#child.on('message', (answer: Answer) => this.#waiting.get(answer.number)?.(answer));
    this.#exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        const error = `${this.#name} ended (${signal ?? code}): ${this.#lastWords.trim()}`;
        for (const [number, answer] of this.#waiting) answer({ number, error });
        resolve();
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /**
   * Resolves to the child's first message when it has started.
   * @throws {Error} if it does not start
   */
  ready<T>(): Promise<T> {
    return this.#ready as Promise<T>;
  }

  /**
   * Asks a process that runs `serve`.
   * @throws {Error} with the child's error
   */
  ask<T>(name: string, argument: unknown = null): Promise<T> {
    const number = (this.#asked += 1);
    const answer = this.#wait<T>(number, name, ANSWER_LIMIT_MS);
    this.#child.send({ number, name, argument } satisfies Question);
    return answer;
  }

  /** Stops the process with SIGTERM, and kills it if that takes too long. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null)
      this.#child.kill('SIGTERM');
    const limit = setTimeout(() => this.#child.kill('SIGKILL'), STOP_LIMIT_MS);
    await this.#exited;
    clearTimeout(limit);
  }

  /** Kills the process. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  #wait<T>(number: number, what: string, limitMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = ({ value, error }: Answer) => {
        clearTimeout(limit);
        this.#waiting.delete(number);
        if (error === undefined) resolve(value as T);
        else reject(new Error(error));
      };
      const limit = setTimeout(
        () =>
          settle({
            number,
            error: `${this.#name}: waited in vain for ${what}: ${this.#lastWords}`,
          }),
        limitMs,
      );
      this.#waiting.set(number, settle);
    });
  }
}
