import fs from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { Daemon, freePorts, removeFolder, serverFolder } from './mail-servers/processes.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** How the pooler is set up. The names are those of its settings. */
export interface PgBouncerSettings {
  pool_mode: 'session' | 'transaction';
  default_pool_size: number;
  /** Statements that the pooler runs on each connection to PostgreSQL. */
  connect_query?: string;
}

/**
 * A real PgBouncer before the server of a database. It lets every local client in as the owner of
 * the database, because only its pooling is tested.
 */
export class PgBouncer {
  /** The same database through the pooler. */
  readonly url: string;
  readonly #folder: string;
  readonly #daemon: Daemon;
  readonly #proxy: TcpProxy;

  private constructor(url: string, folder: string, daemon: Daemon, proxy: TcpProxy) {
    this.url = url;
    this.#folder = folder;
    this.#daemon = daemon;
    this.#proxy = proxy;
  }

  static async start(databaseUrl: string, settings: PgBouncerSettings): Promise<PgBouncer> {
    const { host, port, user = 'postgres', database = '' } = new pg.Client(databaseUrl);
    // The test server accepts only its own user and root, and PgBouncer does not run as root.
    const proxy = await TcpProxy.start(
      host.startsWith('/') ? path.join(host, `.s.PGSQL.${port}`) : port,
    );
    const folder = await serverFolder('pgbouncer');
    const [listenPort = 0] = await freePorts(1);
    const file = path.join(folder, 'pgbouncer.ini');
    await fs.writeFile(file, configuration(settings, { listenPort, proxyPort: proxy.port, user }));
    const isRoot = process.getuid?.() === 0;
    const daemon = new Daemon('pgbouncer', [...(isRoot ? ['-u', 'nobody'] : []), file]);
    await daemon.listening(listenPort);
    const url = `postgresql://${user}@127.0.0.1:${listenPort}/${database}`;
    return new PgBouncer(url, folder, daemon, proxy);
  }

  /** Number of connections to PostgreSQL that the pooler has opened. */
  get opened(): number {
    return this.#proxy.connections;
  }

  async stop(): Promise<void> {
    await this.#daemon.stop('SIGINT');
    await this.#proxy.stop();
    await removeFolder(this.#folder);
  }
}

function configuration(
  { pool_mode, default_pool_size, connect_query }: PgBouncerSettings,
  { listenPort, proxyPort, user }: { listenPort: number; proxyPort: number; user: string },
): string {
  const after = connect_query === undefined ? '' : ` connect_query='${connect_query}'`;
  return `
[databases]
* = host=127.0.0.1 port=${proxyPort} user=${user}${after}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = ${pool_mode}
default_pool_size = ${default_pool_size}
max_client_conn = 200
`;
}
