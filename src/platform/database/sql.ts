import { createHash } from 'node:crypto';
import pg from 'pg';
import {
  answered,
  answerLimitMs,
  connectionOptions,
  type greet,
  SHORT_STATEMENT_SETTINGS,
  STEADY_PLAN_SECONDS,
  STEADY_PLAN_SETTINGS,
  types,
} from './connections.ts';
import { commitWaits } from './commit-waits.ts';
import { connectionTo } from './database-hosts.ts';
import { listPool, noteUse, type OpenPool } from './open-pools.ts';

/**
 * Runs SQL with `$1` parameters. Both the request pool and an open transaction implement it, so a
 * function that takes a `Sql` works inside the transaction of its caller.
 */
export interface Sql {
  /**
   * Runs one statement.
   *
   * Values: strings, numbers, booleans, Date, Buffer, arrays, null. JSON columns take text from
   * `JSON.stringify`. Rows: timestamptz as Date, bigint as number, jsonb parsed, bytea as Buffer.
   */
  query<R extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<R[]>;
}

/** Runs statements on their own and in transactions: the pool, or one connection of it. */
export interface SqlConnection extends Sql {
  /**
   * Runs `work` in one transaction, which commits if `work` resolves and rolls back if it throws.
   * Never use the network inside.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}

/** How one statement is run. */
export interface QueryOptions {
  /**
   * Whether the connection parses the text once and keeps it. Default: true. Set it to false for
   * texts that combine many optional conditions: a connection would keep too many of them.
   */
  prepared?: boolean;
  /**
   * How long the statement may take, in milliseconds, in a transaction that has set
   * `statement_timeout` to more than its pool allows. Default: that of the pool.
   */
  statementTimeoutMs?: number;
}

const names = new Map<string, string>();

/** Returns a short stable name for a text. A connection parses and plans a named statement once. */
function statementName(text: string): string {
  let name = names.get(text);
  if (!name) {
    name = createHash('sha1').update(text).digest('base64url').slice(0, 20);
    names.set(text, name);
  }
  return name;
}

/** Address and limits of a pool. */
export interface PoolOptions {
  /** `DATABASE_URL`, which may name several hosts. */
  url: string;
  max: number;
  statementTimeoutMs: number;
  applicationName: string;
  /**
   * Whether plans are made once, without looking at the values, and never compiled. For a few
   * statements that run very often and whose best plan is known. Default: PostgreSQL's choice for
   * short statements.
   */
  steadyPlans?: boolean;
  /**
   * Whether a pooler gives each transaction another connection (`DATABASE_POOLING`). Statements are
   * then not prepared, and the settings of sessions are those of the pooler. Default: false.
   */
  transactionPooling?: boolean;
  /** How a standby is read, whose connections are checked in another way. Default: a primary. */
  standby?: StandbyHooks;
}

/** What a pool of connections to a standby does besides. An error closes the connection. */
export interface StandbyHooks {
  /** How long opening a connection, or the wait for a free one, may take, in milliseconds. */
  connectMs: number;
  /** Prepares a new connection, instead of `greet`. */
  greet: typeof greet;
  /** Called before each statement and each transaction, with the connection that will run it. */
  admit: (client: pg.ClientBase) => Promise<void>;
}

/**
 * A pool of PostgreSQL connections with named statements, for the hot paths. The ORM inlines
 * parameters, so its statements are planned each time.
 */
export class SqlPool implements SqlConnection {
  readonly #pool: pg.Pool;
  readonly #listed: OpenPool;
  readonly #prepares: boolean;
  readonly #answerMs: number;
  readonly #admit: StandbyHooks['admit'] | undefined;
  /** Most connections that the pool opens. */
  readonly size: number;

  constructor(options: PoolOptions) {
    const {
      steadyPlans = false,
      statementTimeoutMs,
      transactionPooling = false,
      standby,
    } = options;
    const settings = steadyPlans ? STEADY_PLAN_SETTINGS : SHORT_STATEMENT_SETTINGS;
    this.size = options.max;
    this.#prepares = !transactionPooling;
    this.#answerMs = answerLimitMs(statementTimeoutMs);
    this.#admit = standby?.admit;
    this.#pool = new pg.Pool({
      ...connectionTo(options.url),
      max: options.max,
      ...connectionOptions({ statementTimeoutMs, settings, transactionPooling, standby }),
      ...(steadyPlans ? { maxLifetimeSeconds: STEADY_PLAN_SECONDS } : {}),
      types,
      application_name: options.applicationName,
    });
    this.#listed = listPool(options.applicationName, this.#pool);
    // The pool replaces connections that the server drops, and the next statement on such a
    // connection fails. Without these listeners (one for idle connections, one for each used
    // connection) the error would end the process.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  async query<R extends object = Record<string, unknown>>(
    text: string,
    values: readonly unknown[] = [],
    options: QueryOptions = {},
  ): Promise<R[]> {
    // Reads need the connection more than a statement that would be refused on it.
    commitWaits.admit(text);
    const client = await this.#take();
    let failure: Error | undefined;
    try {
      return await this.#run<R>(client, text, values, options);
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      // After an error the connection is closed.
      client.release(failure);
    }
  }

  async transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#take();
    let broken: Error | undefined;
    try {
      return await this.#transaction(client, work, (error) => (broken = error));
    } finally {
      client.release(broken);
    }
  }

  /**
   * Runs `work` on one connection while it holds the advisory lock `key`, outside any transaction.
   * If the connection breaks, or is not used for a minute, the lock ends, and further statements of
   * `work` fail. A lock needs a session, so not with `transactionPooling`.
   * @returns false if another connection holds the lock; `work` does not run then
   */
  async exclusively(key: number, work: (sql: SqlConnection) => Promise<void>): Promise<boolean> {
    const client = await this.#take();
    let failure: Error | undefined;
    try {
      const sql: SqlConnection = {
        query: (text, values = [], options = {}) => this.#run(client, text, values, options),
        transaction: (inner) => this.#transaction(client, inner, (error) => (failure = error)),
      };
      const [lock] = await sql.query<{ ours: boolean }>(LOCK, [key]);
      if (!lock?.ours) return false;
      await work(sql);
      await sql.query(UNLOCK, [key]);
      return true;
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      // After an error the connection is closed, which also ends the lock.
      client.release(failure);
    }
  }

  /** Takes a connection from the pool. */
  #take(): Promise<pg.PoolClient> {
    noteUse(this.#listed);
    const taken = this.#pool.connect();
    return this.#admit ? this.#admitted(taken, this.#admit) : taken;
  }

  /** Closes the connection if it is not admitted. */
  async #admitted(
    taken: Promise<pg.PoolClient>,
    admit: StandbyHooks['admit'],
  ): Promise<pg.PoolClient> {
    const client = await taken;
    try {
      await admit(client);
      return client;
    } catch (error) {
      client.release(error as Error);
      throw error;
    }
  }

  /**
   * @param onBroken called if the connection must not be used again: even the rollback fails, or
   *   its prepared statements are outdated
   */
  async #transaction<T>(
    client: pg.PoolClient,
    work: (sql: Sql) => Promise<T>,
    onBroken: (error: Error) => void,
  ): Promise<T> {
    try {
      await this.#run(client, 'begin', [], UNPREPARED);
      const sql: Sql = {
        query: (text, values = [], options = {}) => this.#run(client, text, values, options),
      };
      const waiting: (() => void)[] = [];
      openTransaction(sql, waiting);
      const result = await work(sql);
      await this.#run(client, 'commit', [], UNPREPARED);
      for (const next of waiting) next();
      return result;
    } catch (error) {
      if (isOutdated(error)) onBroken(error);
      await this.#run(client, 'rollback', [], UNPREPARED).catch((cause: unknown) =>
        onBroken(cause as Error),
      );
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /**
   * @throws {Error} also if the server does not answer: then the connection is closed
   * @throws {CommitsWaitError} if the statement may write, and no commit would end
   */
  async #run<R extends object>(
    client: pg.PoolClient,
    text: string,
    values: readonly unknown[],
    { prepared = true, statementTimeoutMs }: QueryOptions,
  ): Promise<R[]> {
    commitWaits.admit(text);
    const name = prepared && this.#prepares ? statementName(text) : undefined;
    const statement = { name, text, values: [...values] };
    const limitMs =
      statementTimeoutMs === undefined ? this.#answerMs : answerLimitMs(statementTimeoutMs);
    return (await answered<R>(client, limitMs, statement)).rows;
  }
}

const UNPREPARED: QueryOptions = { prepared: false };

/**
 * Whether a prepared statement will fail on its connection each time: a migration has changed its
 * columns (`0A000`, "cached plan must not change result type"), or the server does not know it
 * (`26000`).
 */
function isOutdated(error: unknown): error is Error {
  return error instanceof pg.DatabaseError && ['0A000', '26000'].includes(error.code ?? '');
}

// The server ends the session of a process that is frozen or gone, and with it the lock.
const LOCK = `
  select ours, case when ours then set_config('idle_session_timeout', '60s', false) end
  from (select pg_try_advisory_lock($1) as ours) lock`;
const UNLOCK = `select pg_advisory_unlock($1), set_config('idle_session_timeout', '0', false)`;

/** Work to run after the commit of each open transaction. */
const afterwards = new WeakMap<Sql, (() => void)[]>();

/**
 * Says that `sql` is an open transaction, whose owner runs the work of `waiting` after its commit.
 */
export function openTransaction(sql: Sql, waiting: (() => void)[]): void {
  afterwards.set(sql, waiting);
}

/**
 * Runs `work` once the transaction of `sql` has committed, and not at all if it rolls back. If
 * `sql` is a pool, `work` runs at once. `work` must not throw. The process may end before `work`
 * runs, so nothing essential may depend on it.
 */
export function afterCommit(sql: Sql, work: () => void): void {
  const waiting = afterwards.get(sql);
  if (waiting) waiting.push(work);
  else work();
}

/**
 * Returns the named columns of rows, each as an array of its values, in the order of `names`.
 * `unnest` takes them in this form.
 */
export function columnsOf<R extends object, N extends keyof R>(
  rows: readonly R[],
  ...names: N[]
): R[N][][] {
  return names.map((name) => rows.map((row) => row[name]));
}

/** Returns the ids of rows, in their order. */
export function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}

/**
 * Returns rows as JSON with keys in snake_case, like the columns. `jsonb_to_recordset` takes them
 * in this form.
 */
export function recordset(rows: readonly object[]): string {
  const column = (name: string) =>
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const record = (row: object) =>
    Object.entries(row).map(([name, value]) => [column(name), value as unknown]);
  return JSON.stringify(rows.map((row) => Object.fromEntries(record(row)) as object));
}

/** The request pool, for features to inject. The engine has a pool of its own. */
export class Database extends SqlPool {}
