import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/platform/database/embedded/embedded-postgres.ts';
import { migrate } from '../src/app/migrate.ts';
import { SecretBox } from '../src/platform/base/crypto/secret-box.ts';
import { BenchProcess } from './child.ts';
import { type BenchOptions, type Scale, scaleOf } from './options.ts';
import { parentOf } from './usage.ts';
import {
  type BenchAccount,
  type BenchApplication,
  seedAccounts,
  seedApplication,
  seedPending,
} from './seed.ts';

/**
 * More memory and log space for the large queues. All settings that keep data safe have
 * PostgreSQL's defaults, so they are on.
 */
export const SERVER_SETTINGS = {
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
} as const;

/** Statements are counted only in databases for which a row asks for it (`countPages`). */
const STATEMENT_COUNTERS = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'none',
} as const;

/** The database of one row. */
export interface BenchDatabase {
  url: string;
  /** The bench's own connection. Its queries count for none of the measured sides. */
  sql: pg.Client;
  drop(): Promise<void>;
}

const ACCOUNTS = 2_000;
const SANDBOX_ACCOUNTS = 50;

/** The servers and processes of a run. `close` leaves nothing behind. */
export class World {
  readonly options: BenchOptions;
  readonly scale: Scale;
  readonly encryptionKey = randomBytes(32);
  /**
   * Accounts of provider `imap`. The connector of the bench's processes decides where their mail
   * goes.
   */
  readonly accounts: BenchAccount[] = [];
  /** Accounts that the unchanged program can serve. */
  readonly sandboxAccounts: BenchAccount[] = [];
  /** The application of all accounts. Its id is empty before `open`. */
  application: BenchApplication = { id: '', clientId: '', clientSecret: '' };
  readonly #prefix = `carillon_bench_${randomBytes(4).toString('hex')}`;
  readonly #children = new Set<BenchProcess>();
  readonly #databases = new Set<BenchDatabase>();
  readonly #templates = new Map<string, Promise<void>>();
  readonly #servers: { stop(): Promise<void> }[] = [];
  #admin: pg.Client | null = null;
  #adminUrl = '';
  #postgresPid: number | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: BenchOptions) {
    this.options = options;
    this.scale = scaleOf(options);
  }

  /** Starts the server and creates the template database with the schema and the accounts. */
  async open(): Promise<void> {
    this.#adminUrl = this.options.database ?? (await this.#startServer());
    this.#admin = await connect(this.#adminUrl);
    if (this.#servers.length > 0) {
      const { rows } = await this.#admin.query<{ pid: number }>('select pg_backend_pid() as pid');
      this.#postgresPid = parentOf(rows[0]?.pid ?? 0);
    }
    await this.#template('base', async (sql, url) => {
      await migrate(url);
      const { box } = this;
      this.application = await seedApplication(sql, box);
      const { id } = this.application;
      this.accounts.push(...(await seedAccounts(sql, box, id, 'imap', ACCOUNTS)));
      this.sandboxAccounts.push(...(await seedAccounts(sql, box, id, 'sandbox', SANDBOX_ACCOUNTS)));
      await sql.query('vacuum analyze');
    });
  }

  /** Encrypts and decrypts with the key of the bench's processes. */
  get box(): SecretBox {
    return new SecretBox([{ id: 'bench', key: this.encryptionKey }]);
  }

  /**
   * Process id of PostgreSQL's first process, the parent of all others. `null` if the server is not
   * on this machine.
   */
  get postgresPid(): number | null {
    return this.#postgresPid;
  }

  /** Version and important settings, as the server reports them. */
  async serverFacts(): Promise<Record<string, string>> {
    const names = ['server_version', ...Object.keys(SERVER_SETTINGS)];
    const { rows } = await this.#require().query<{ name: string; value: string }>(
      'select name, current_setting(name) as value from unnest($1::text[]) name',
      [names],
    );
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  }

  /** Creates a database with the schema and the accounts. */
  database(name: string): Promise<BenchDatabase> {
    return this.#copy(name, 'base');
  }

  /**
   * Creates a database that also has `scale.pending` waiting rows. The rows are written once per
   * run.
   */
  async pendingDatabase(name: string): Promise<BenchDatabase> {
    await this.#template(
      'pending',
      (sql) => seedPending(sql, this.accounts, 0, this.scale.pending),
      `${this.#prefix}_base`,
    );
    return this.#copy(name, 'pending');
  }

  /** Starts a process. `close` ends it if it still runs. */
  spawn(entry: string, environment: Readonly<Record<string, string>> = {}): BenchProcess {
    const child = new BenchProcess(entry, environment, this.options.profile);
    this.#children.add(child);
    return child;
  }

  /** Registers another server. `close` stops it if it still runs. */
  own(server: { stop(): Promise<void> }): void {
    this.#servers.push(server);
  }

  async stop(...children: readonly BenchProcess[]): Promise<void> {
    await Promise.all(
      children.map(async (child) => {
        await child.stop();
        this.#children.delete(child);
      }),
    );
  }

  /**
   * Environment of a process of the product.
   * @param more the row's own variables
   */
  environment(
    database: Pick<BenchDatabase, 'url'>,
    more: Readonly<Record<string, string>> = {},
  ): Record<string, string> {
    return {
      NODE_ENV: 'production',
      SANDBOX: 'true',
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: `bench:${this.encryptionKey.toString('base64')}`,
      EGRESS_ALLOW: '127.0.0.0/8',
      LOG_LEVEL: 'info',
      RATE_LIMIT_APPLICATION: '0',
      RATE_LIMIT_ACCOUNT: '0',
      RATE_LIMIT_CONCURRENT: '0',
      ...more,
    };
  }

  /**
   * Prepares a round. Earlier writes are flushed to disk now, so that the round does not pay for
   * them. The planner gets current table sizes, as in an installation that has run for a while.
   */
  async settle({ sql }: BenchDatabase): Promise<void> {
    await sql.query('vacuum (analyze)');
    await this.#require().query('checkpoint');
  }

  /**
   * Counts the pages of 8 kB that PostgreSQL reads in a database, from memory or from disk, for
   * connections that are opened from now on. The number does not depend on the machine.
   * @returns a function that reads the number since its last call, or `null` if the server is not
   *   the bench's own
   */
  async countPages({ sql }: BenchDatabase): Promise<(() => Promise<number>) | null> {
    if (this.options.database !== null) return null;
    const [row] = (await sql.query<{ name: string }>('select current_database() as name')).rows;
    await sql.query('create extension pg_stat_statements');
    await sql.query(`alter database ${row?.name} set pg_stat_statements.track = 'top'`);
    return async () => {
      const { rows } = await sql.query<{ pages: number }>(
        `select coalesce(sum(shared_blks_hit + shared_blks_read), 0)::int as pages from pg_stat_statements s
         join pg_database d on d.oid = s.dbid where d.datname = current_database()`,
      );
      await sql.query('select pg_stat_statements_reset()');
      return rows[0]?.pages ?? 0;
    };
  }

  /** Ends every process and drops the databases. May be called after Ctrl-C, and more than once. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#children].map((child) => child.kill()));
    const ownServer = this.options.database === null;
    if (ownServer) for (const { sql } of this.#databases) await sql.end();
    else for (const database of this.#databases) await database.drop();
    for (const name of ownServer ? [] : this.#templates.keys()) {
      await this.#admin?.query(`drop database if exists ${this.#prefix}_${name} with (force)`);
    }
    await this.#admin?.end();
    await Promise.all(this.#servers.map((server) => server.stop()));
  }

  /**
   * Creates a template database once. No connection to it stays open, because PostgreSQL copies
   * only unused databases.
   */
  #template(
    name: string,
    fill: (sql: pg.Client, url: string) => Promise<void>,
    from = 'template1',
  ): Promise<void> {
    const make = async (): Promise<void> => {
      const full = `${this.#prefix}_${name}`;
      await this.#require().query(`create database ${full} template ${from}`);
      const sql = await connect(this.#urlOf(full));
      await fill(sql, this.#urlOf(full)).finally(() => sql.end());
    };
    const made = this.#templates.get(name) ?? make();
    this.#templates.set(name, made);
    return made;
  }

  async #copy(name: string, template: string): Promise<BenchDatabase> {
    const full = `${this.#prefix}_${name}`;
    // Copies the files, because copying large ones through the log would take minutes.
    await this.#require().query(
      `create database ${full} template ${this.#prefix}_${template} strategy file_copy`,
    );
    const url = this.#urlOf(full);
    const sql = await connect(url);
    const database: BenchDatabase = {
      url,
      sql,
      drop: async () => {
        this.#databases.delete(database);
        await sql.end();
        await this.#require().query(`drop database if exists ${full} with (force)`);
      },
    };
    this.#databases.add(database);
    return database;
  }

  async #startServer(): Promise<string> {
    const server = await startEmbeddedPostgres({
      settings: { ...SERVER_SETTINGS, ...STATEMENT_COUNTERS },
    });
    this.own(server);
    return server.url;
  }

  #require(): pg.Client {
    if (!this.#admin) throw new Error('the database server has not been started');
    return this.#admin;
  }

  #urlOf(database: string): string {
    const url = new URL(this.#adminUrl);
    url.pathname = `/${database}`;
    return url.href;
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'carillon-bench' });
  // The next query reports the error. Without a listener it would end the process.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
