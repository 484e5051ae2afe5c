import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

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

/** So many ports that nobody listens on at the moment. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = net.createServer();
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as net.AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/** A folder that servers which drop their privileges can enter. */
export async function serverFolder(name: string): Promise<string> {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), `carillon-${name}-`));
  await fs.chmod(folder, 0o755);
  return folder;
}

/** @throws when nobody answers there within ten seconds */
export async function untilListening(port: number, alive: () => boolean = () => true): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (!alive()) throw new Error(`the server for port ${port} ended while it started`);
    const socket = net.connect(port, '127.0.0.1');
    const answered = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (answered) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`nobody listens on port ${port}`);
}

/** A server in the foreground; what it writes to stderr is told when it does not start. */
export class Daemon {
  readonly #child: ChildProcess;
  #said = '';

  constructor(program: string, options: readonly string[], environment: Record<string, string> = {}) {
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
    return this.#child.exitCode === null && this.#child.signalCode === null && this.#child.pid !== undefined;
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
