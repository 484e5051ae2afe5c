import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { compiled, ROOT } from './project.ts';
import { StepFailure } from './report.ts';

const START_LIMIT_MS = 60_000;
const MOST_RESTARTS = 5;
const KEPT_OUTPUT = 8_000;

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as net.AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}

export interface TemporaryServerOptions {
  /** Settings of Carillon in addition to `PORT` and `DATA_DIR`. */
  environment?: Readonly<Record<string, string>>;
  /** Default: a free one. */
  port?: number;
  /**
   * Whether Ctrl-C in the terminal reaches this program only, so that it can still use the server.
   * Default false. In either case the server stops when this program ends.
   */
  outlivesInterrupt?: boolean;
}

/**
 * A real Carillon in its own process: the program that `npm start` runs, on a free port, with a
 * temporary database. If the process dies (try kill -9), it is started again on the same database.
 */
export class TemporaryServer {
  readonly dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-temporary-'));
  url = '';
  #environment: Record<string, string> = {};
  #child: ChildProcess | undefined;
  #ready: Promise<void> = Promise.resolve();
  #stopping = false;
  #restarts = 0;
  #output = '';

  readonly #onRestart: (reason: string) => void;

  readonly #options: TemporaryServerOptions;

  /** @param onRestart called with the reason when the process has died and is started again */
  constructor(onRestart: (reason: string) => void, options: TemporaryServerOptions = {}) {
    this.#onRestart = onRestart;
    this.#options = options;
  }

  /** Process id, shown so that the reader can kill the process. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The settings of the server, for code that opens its database. */
  get environment(): Readonly<Record<string, string | undefined>> {
    return this.#processEnvironment();
  }

  /** Whether the process has died and was started again. */
  get hasRestarted(): boolean {
    return this.#restarts > 0;
  }

  /** How late a result may be, in seconds: more if the server had to restart first. */
  get patienceSeconds(): number {
    return this.hasRestarted ? 30 : 10;
  }

  /** Resolves when the server listens; after a crash, when it listens again. */
  ready(): Promise<void> {
    return this.#ready;
  }

  async start(): Promise<void> {
    const { environment, port = await freePort() } = this.#options;
    this.url = `http://localhost:${port}`;
    this.#environment = { ...environment, PORT: String(port), DATA_DIR: this.dataDir };
    this.#ready = this.#launch();
    await this.#ready;
  }

  /**
   * Runs the operator command beside the server, on the same database.
   * @returns its standard output
   * @throws {StepFailure} if the command fails
   */
  operator(args: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [compiled('cli/carillon'), ...args], {
        cwd: ROOT,
        env: this.#processEnvironment(),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let stdout = '';
      let stderr = '';
      child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      child.once('error', reject);
      child.once('close', (code) =>
        code === 0
          ? resolve(stdout)
          : reject(new StepFailure(`carillon ${args.join(' ')}: ${stderr.trim()}`)),
      );
    });
  }

  /**
   * Stops the server.
   * @returns its exit code
   */
  async stop(): Promise<number | null> {
    this.#stopping = true;
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    const exited = new Promise<number | null>((resolve) =>
      child.once('exit', (code) => resolve(code)),
    );
    child.kill('SIGTERM');
    return exited;
  }

  /** The last output of the server, for error messages. */
  get lastOutput(): string {
    return this.#output.trim();
  }

  removeData(): void {
    // Right after a kill the database may still be writing its last files.
    fs.rmSync(this.dataDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }

  /** Leaves out the user's own Carillon settings. */
  #processEnvironment(): Record<string, string | undefined> {
    const { PATH, HOME, LANG } = process.env;
    return { PATH, HOME, LANG, ...this.#environment };
  }

  #launch(): Promise<void> {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, ['--enable-source-maps', compiled('local')], {
        cwd: ROOT,
        env: this.#processEnvironment(),
        detached: this.#options.outlivesInterrupt ?? false,
        // When this program is killed, the channel closes and the server stops.
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      });
      this.#child = child;
      const limit = setTimeout(
        () => reject(new StepFailure('Carillon did not start in time')),
        START_LIMIT_MS,
      );
      const read = (chunk: Buffer): void => {
        this.#output = (this.#output + chunk.toString()).slice(-KEPT_OUTPUT);
        if (/is listening on/.test(this.#output)) {
          clearTimeout(limit);
          resolve();
        }
      };
      child.stdout?.on('data', read);
      child.stderr?.on('data', read);
      child.once('exit', (code, signal) => {
        clearTimeout(limit);
        this.#onExit(signal ?? `exit code ${code}`, reject);
      });
    });
  }

  #onExit(reason: string, reject: (error: Error) => void): void {
    if (this.#stopping) return;
    this.#restarts += 1;
    if (this.#restarts > MOST_RESTARTS || !/is listening on/.test(this.#output)) {
      reject(new StepFailure(`Carillon ended (${reason}): ${this.lastOutput}`));
      return;
    }
    this.#onRestart(reason);
    this.#output = '';
    this.#ready = this.#launch();
    // Callers of `ready()` get the error. Without a caller, the rejection must not end the program.
    this.#ready.catch(() => undefined);
  }
}
