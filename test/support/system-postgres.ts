import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { ENVIRONMENT, freePorts } from './mail-servers/processes.ts';

const execute = promisify(execFile);
/** Debian's folders of PostgreSQL's own programs, which are not on the path. */
const FOLDERS = '/usr/lib/postgresql';

/** User and group of the account `postgres`, or `null` if we are an ordinary user ourselves. */
function account(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const line = fs.readFileSync('/etc/passwd', 'utf8').match(/^postgres:[^:]*:(\d+):(\d+)/m);
  if (!line) throw new Error('root cannot run PostgreSQL, and there is no account postgres');
  return { uid: Number(line[1]), gid: Number(line[2]) };
}

/** The newest PostgreSQL of the operating system, with its programs for backups. */
export class SystemPostgres {
  /** Folder that the account of the servers owns. */
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-system-'));
  readonly #account = account();
  readonly #programs: string;
  readonly #started: string[] = [];

  constructor() {
    const [newest = ''] = fs.existsSync(FOLDERS)
      ? fs.readdirSync(FOLDERS).toSorted().toReversed()
      : [];
    this.#programs = path.join(FOLDERS, newest, 'bin');
    if (this.#account) fs.chownSync(this.folder, this.#account.uid, this.#account.gid);
  }

  /** Runs lines of a shell as the account of the servers. @throws if one of them fails */
  async run(lines: string, variables: Readonly<Record<string, string>> = {}): Promise<string> {
    const PATH = `${this.#programs}:${ENVIRONMENT.PATH}`;
    const { stdout } = await execute('bash', ['-euc', lines], {
      cwd: this.folder,
      env: { PATH, LC_ALL: 'C.UTF-8', ...variables },
      ...this.#account,
    });
    return stdout;
  }

  /** A folder in `folder`. */
  async makeFolder(name: string): Promise<string> {
    const folder = path.join(this.folder, name);
    await this.run(`mkdir -p '${folder}'`);
    return folder;
  }

  /**
   * Creates a server and starts it.
   * @param settings further lines of postgresql.conf
   * @returns the URL of its database `postgres`
   */
  async create(name: string, settings: readonly string[] = []): Promise<string> {
    const data = path.join(this.folder, name);
    await this.run(`initdb --pgdata='${data}' --username=carillon --auth=trust --encoding=UTF8`);
    const [port = 0] = await freePorts(1);
    const file = path.join(data, 'postgresql.conf');
    await fs.promises.appendFile(file, [this.#listenAt(port), ...settings, ''].join('\n'));
    await this.run(`pg_ctl --pgdata='${data}' --wait --log='${data}.log' start`);
    this.#started.push(data);
    return this.#urlAt(port);
  }

  /** Prepares a folder that was restored for a start beside the server from which it comes. */
  async move(data: string): Promise<string> {
    const [port = 0] = await freePorts(1);
    await fs.promises.appendFile(path.join(data, 'postgresql.conf'), `${this.#listenAt(port)}\n`);
    this.#started.push(data);
    return this.#urlAt(port);
  }

  /** Stops all servers and removes their files. */
  async close(): Promise<void> {
    for (const data of this.#started)
      await this.run(`pg_ctl --pgdata='${data}' --mode=immediate stop || true`);
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  #listenAt(port: number): string {
    return `port = ${port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '${this.folder}'\nmax_connections = 200`;
  }

  #urlAt(port: number): string {
    return `postgresql://carillon@127.0.0.1:${port}/postgres`;
  }
}
