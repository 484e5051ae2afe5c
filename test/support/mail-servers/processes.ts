import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { until } from '../until.ts';

/** The environment, with a PATH on which the system's servers are found. */
export const ENVIRONMENT = {
  ...process.env,
  PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin`,
};

const execute = promisify(execFile);

/** Runs a program to its end. @throws an error with the program's output */
export async function run(program: string, ...options: string[]): Promise<string> {
  const { stdout } = await execute(program, options, { env: ENVIRONMENT });
  return stdout;
}

/** Starts a program that puts itself into the background. @throws if it ends with an error */
export async function launch(program: string, ...options: string[]): Promise<void> {
  // The background process must not keep our pipes open.
  const child = spawn(program, options, { env: ENVIRONMENT, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${program} ${options.join(' ')} ended with ${code}`);
}

/*
 * Ports below the range that the system assigns by itself. So no other test's server or connection
 * gets a chosen port before our server listens there, or while our server restarts. Each worker of
 * a run has its own range.
 */
const LOWEST_PORT = 20_000;
const PORTS_PER_WORKER = 1_000;
const worker = Number(process.env['JEST_WORKER_ID'] ?? 0) % 12;
let chosen = Math.floor(Math.random() * PORTS_PER_WORKER);

/** Chooses free ports that were not chosen before. @throws if there are not enough of them */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; tries < PORTS_PER_WORKER && ports.length < count; tries += 1) {
    chosen = (chosen + 1) % PORTS_PER_WORKER;
    const port = LOWEST_PORT + worker * PORTS_PER_WORKER + chosen;
    if (await isFree(port)) ports.push(port);
  }
  if (ports.length < count) throw new Error('no port is free');
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = net.createServer();
  server.listen(port, '127.0.0.1');
  const listens = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (listens) await once(server.close(), 'close');
  return listens;
}

/** Creates a folder that servers can enter after dropping their privileges. */
export async function serverFolder(name: string): Promise<string> {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), `carillon-${name}-`));
  await fs.chmod(folder, 0o755);
  return folder;
}

/** True if a server listens on the port. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
  });
}

/** @throws if no server listens on the port in time, or the server has ended */
export async function untilListening(
  port: number,
  alive: () => boolean = () => true,
): Promise<void> {
  await until(`a server to listen on port ${port}`, () => {
    if (!alive()) throw new Error(`the server for port ${port} ended while it started`);
    return isListening(port);
  });
}

/**
 * Removes the folder of a stopped server. Retries, because its child processes may still be writing
 * there.
 */
export function removeFolder(folder: string): Promise<void> {
  return fs.rm(folder, { recursive: true, force: true, maxRetries: 20 });
}

/** A server in the foreground. If it does not start, the error contains its stderr. */
export class Daemon {
  readonly #child: ChildProcess;
  #said = '';

  constructor(
    program: string,
    options: readonly string[],
    environment: Record<string, string> = {},
  ) {
    this.#child = spawn(program, options, {
      env: { ...ENVIRONMENT, ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child.stderr?.on(
      'data',
      (chunk: Buffer) => (this.#said = (this.#said + chunk.toString()).slice(-4_000)),
    );
    this.#child.on('error', (error) => (this.#said += String(error)));
  }

  get running(): boolean {
    return (
      this.#child.exitCode === null &&
      this.#child.signalCode === null &&
      this.#child.pid !== undefined
    );
  }

  /** @throws an error with the server's output if the server ends before it listens */
  async listening(port: number): Promise<void> {
    try {
      await untilListening(port, () => this.running);
    } catch (error) {
      throw new Error(`${String(error)}: ${this.#said}`, { cause: error });
    }
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (!this.running) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    await ended;
  }
}
