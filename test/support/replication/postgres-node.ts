import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { once } from 'node:events';
import pg from 'pg';
import { reachSocket } from '../../../src/platform/database/embedded/embedded-access.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../src/platform/database/embedded/embedded-postgres.ts';
import { TcpProxy } from '../tcp-proxy.ts';
import { until } from '../until.ts';

/**
 * Stops the processes that it is given, and lets them run again when its input ends. So no frozen
 * server is left behind if the test's own process dies.
 */
const FREEZER = 'kill -STOP "$@"; echo frozen; cat >/dev/null; kill -CONT "$@"';
const REPLICATION = 'local replication all peer map=carillon\n';

/** Every child of a process, from the process table. */
function childrenOf(parent: number): number[] {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      // The name in parentheses may contain spaces. State and parent follow it.
      const [, ppid] =
        fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return Number(ppid) === parent;
    } catch {
      return false; // It has ended meanwhile.
    }
  });
}

/** Time from a promotion that is visible to the last connection of a process to the old server. */
const LEFT_WITHIN_MS = 2_000;

/** One PostgreSQL server of a replicated pair. */
export class PostgresNode {
  #server: EmbeddedPostgres | null = null;
  #freezer: ChildProcess | null = null;

  private constructor(
    readonly dataDir: string,
    private readonly settings: Readonly<Record<string, string>>,
    /** The server's own address on 127.0.0.1. Break it to cut this server off. */
    readonly network: TcpProxy,
  ) {}

  /** Starts a server over a folder; a folder that does not exist gets an empty database. */
  static async start(
    dataDir: string,
    settings: Readonly<Record<string, string>>,
  ): Promise<PostgresNode> {
    const network = await TcpProxy.start(PostgresNode.#socket(dataDir));
    const node = new PostgresNode(dataDir, settings, network);
    await node.start();
    return node;
  }

  static #socket(dataDir: string): string {
    return reachSocket(dataDir).path;
  }

  /** Path of the socket on which the server listens. */
  get socketPath(): string {
    return PostgresNode.#socket(this.dataDir);
  }

  /** `host:port` of `network`. */
  get host(): string {
    return `127.0.0.1:${this.network.port}`;
  }

  /** URL of the database over `network`. */
  get url(): string {
    return `postgresql://postgres@${this.host}/carillon`;
  }

  /** Starts the server again after `stop` or `crash`, with the same data at the same address. */
  async start(): Promise<void> {
    this.#server = await startEmbeddedPostgres({ dataDir: this.dataDir, settings: this.settings });
    fs.appendFileSync(path.join(this.dataDir, 'pg_hba.conf'), REPLICATION);
    await this.query('select pg_reload_conf()');
  }

  /** Runs a statement as superuser, past `network`. */
  async query<R extends object = Record<string, unknown>>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<R[]> {
    const client = await this.#connect();
    try {
      return (await client.query<R & pg.QueryResultRow>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  async #connect(): Promise<pg.Client> {
    const folder = encodeURIComponent(path.dirname(this.socketPath));
    const client = new pg.Client({
      connectionString: `postgresql://postgres@${folder}:5432/carillon`,
    });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /**
   * Waits until every connection of Carillon to this server is closed that is open now.
   * @throws if that takes more than the two seconds that docs/failover.md promises
   */
  async left(): Promise<void> {
    const [now] = await this.query<{ at: Date }>('select clock_timestamp() as at');
    const open = `select from pg_stat_activity where application_name like 'carillon%' and backend_start < $1`;
    await until(
      'every connection to leave the replaced server',
      async () => (await this.query(open, [now?.at])).length === 0,
      LEFT_WITHIN_MS,
    );
  }

  /** Makes a base backup of the running server. A standby can be started over it. */
  async backUp(folder: string): Promise<void> {
    const client = await this.#connect();
    try {
      await client.query(`select pg_backup_start('copy', true)`);
      // Files may come and go meanwhile. The write-ahead log makes up for it.
      spawnSync('cp', ['-a', this.dataDir, folder], { stdio: 'ignore' });
      const { rows } = await client.query<{ label: string }>(
        'select labelfile as label from pg_backup_stop(false)',
      );
      const running = ['postmaster.pid', 'postmaster.opts', '.s.PGSQL.5432', '.s.PGSQL.5432.lock'];
      for (const name of running) fs.rmSync(path.join(folder, name), { force: true });
      const owner = fs.statSync(folder);
      for (const [name, text] of [
        ['backup_label', rows[0]?.label ?? ''],
        ['standby.signal', ''],
      ] as const) {
        fs.writeFileSync(path.join(folder, name), text);
        fs.chownSync(path.join(folder, name), owner.uid, owner.gid);
      }
    } finally {
      await client.end();
    }
  }

  /**
   * Changes a setting of the running server.
   * @param value the text of the value; null restores the default
   */
  async set(name: string, value: string | null): Promise<void> {
    await this.query(
      value === null
        ? `alter system reset ${name}`
        : `alter system set ${name} = '${value.replaceAll("'", "''")}'`,
    );
    await this.query('select pg_reload_conf()');
  }

  /** The server's timeline, as ordinary users of a primary see it. */
  async timeline(): Promise<number> {
    const [row] = await this.query<{ name: string }>(
      'select pg_walfile_name(pg_current_wal_lsn()) as name',
    );
    return parseInt(row?.name.slice(0, 8) ?? '', 16);
  }

  /** Makes a standby the primary of a new timeline. Resolves when it accepts writes. */
  async promote(): Promise<void> {
    await this.query('select pg_promote(true, 30)');
    await until(
      'the standby to accept writes',
      async () =>
        (await this.query<{ off: boolean }>('select not pg_is_in_recovery() as off'))[0]?.off,
    );
  }

  /** Suspends the server with all its connections: nothing is answered, nothing is refused. */
  async freeze(): Promise<void> {
    if (this.#freezer) return;
    const postmaster = this.#postmaster();
    // The postmaster is stopped first, so that it starts no further process.
    process.kill(postmaster, 'SIGSTOP');
    const pids = [postmaster, ...childrenOf(postmaster)].map(String);
    this.#freezer = spawn('/bin/sh', ['-c', FREEZER, 'freezer', ...pids], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    });
    if (this.#freezer.stdout) await once(this.#freezer.stdout, 'data');
  }

  /** Lets a frozen server go on where it was. */
  async thaw(): Promise<void> {
    const freezer = this.#freezer;
    this.#freezer = null;
    if (!freezer) return;
    const ended = once(freezer, 'exit');
    freezer.stdin?.end();
    await ended;
  }

  /** Kills the server without a checkpoint. It can be started again. */
  async crash(): Promise<void> {
    await this.thaw();
    process.kill(this.#postmaster(), 'SIGQUIT');
    await this.#server?.stop();
    this.#server = null;
  }

  /** Stops the server in order, as a planned switchover does. It can be started again. */
  async stop(): Promise<void> {
    await this.thaw();
    await this.#server?.stop();
    this.#server = null;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.network.stop();
  }

  #postmaster(): number {
    const file = path.join(this.dataDir, 'postmaster.pid');
    return Number(fs.readFileSync(file, 'utf8').split('\n')[0]);
  }
}
