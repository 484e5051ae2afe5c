import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { until } from '../until.ts';

/** Everything a server of the system needs to be found. */
export const ENVIRONMENT = {
  ...process.env,
  PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin`,
};

const execute = promisify(execFile);

/** Runs a program to its end. @throws with what it said */
export async function run(program: string, ...options: string[]): Promise<string> {
  const { stdout } = await execute(program, options, { env: ENVIRONMENT });
  return stdout;
}

/** Starts a program that goes into the background by itself. @throws when it ends with an error */
export async function launch(program: string, ...options: string[]): Promise<void> {
  // What goes on in the background must not hold our pipes.
  const child = spawn(program, options, { env: ENVIRONMENT, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${program} ${options.join(' ')} ended with ${code}`);
}

/*
 * Below the ports that systems give away by themselves: what is chosen here is not given to another test's server or
 * connection before ours listens there, nor between its end and its new beginning. Each worker of a run has its own.
 */
const LOWEST_PORT = 20_000;
const PORTS_PER_WORKER = 1_000;
const worker = Number(process.env['JEST_WORKER_ID'] ?? 0) % 12;
let chosen = Math.floor(Math.random() * PORTS_PER_WORKER);

/** So many ports that nobody listens on at the moment, none of them chosen before. @throws when there are no more */
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

/** A folder that servers which drop their privileges can enter. */
export async function serverFolder(name: string): Promise<string> {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), `carillon-${name}-`));
  await fs.chmod(folder, 0o755);
  return folder;
}

/** Whether somebody listens there. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
  });
}

/** @throws when nobody answers there in time, or the server is not alive any more */
export async function untilListening(
  port: number,
  alive: () => boolean = () => true,
): Promise<void> {
  await until(`somebody to listen on port ${port}`, () => {
    if (!alive()) throw new Error(`the server for port ${port} ended while it started`);
    return isListening(port);
  });
}

/** Removes the folder of a server that has ended; children of it may write their last there for a moment. */
export function removeFolder(folder: string): Promise<void> {
  return fs.rm(folder, { recursive: true, force: true, maxRetries: 20 });
}

/** A server in the foreground; what it writes to stderr is told when it does not start. */
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

  /** @throws with its own words when it ends instead */
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
