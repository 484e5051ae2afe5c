import { createHash } from 'node:crypto';
import { CompiledQuery } from 'kysely';
import pg from 'pg';
import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Runs SQL with `$1` parameters. Two things are one: the request pool and an open transaction, so that a function
 * which takes a `Sql` works inside whatever transaction its caller has open.
 */
export interface Sql {
  /**
   * Values: strings, numbers, booleans, Date, Buffer, arrays, null; JSON columns take `JSON.stringify`-ed text.
   * Rows: timestamptz as Date, bigint as number, jsonb parsed, bytea as Buffer.
   */
  query<R extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<R[]>;
}

/** How one statement is run. */
export interface QueryOptions {
  /**
   * Default true: parsed once per connection and kept there. False for texts that are put together from many
   * optional conditions, of which a connection would keep too many.
   */
  prepared?: boolean;
}

const BIGINT_OID = 20;
/** How values of the database are read, in the pools and in the ORM: timestamps as Date, bigints as number. */
export const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    // Our bigints are counters and cursors, far below 2^53.
    if (oid === BIGINT_OID) return Number;
    return pg.types.getTypeParser(oid, format as 'text');
  },
} as pg.CustomTypesConfig;

const names = new Map<string, string>();

/** A short stable name per text: named statements are parsed and planned once per connection. */
function statementName(text: string): string {
  let name = names.get(text);
  if (!name) {
    name = createHash('sha1').update(text).digest('base64url').slice(0, 20);
    names.set(text, name);
  }
  return name;
}

async function run<R extends object>(
  target: pg.Pool | pg.PoolClient,
  text: string,
  values: readonly unknown[],
  { prepared = true }: QueryOptions,
): Promise<R[]> {
  const name = prepared ? statementName(text) : undefined;
  const result = await target.query<R>({ name, text, values: [...values] });
  return result.rows;
}

/**
 * Limits of every connection to PostgreSQL, the ORM's too: nobody waits for ever, not for a connection, a statement, a
 * lock or somebody who has left a transaction open.
 */
export function connectionLimits(statementTimeoutMs: number) {
  return {
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    statement_timeout: statementTimeoutMs,
    lock_timeout: Math.ceil(statementTimeoutMs / 2),
    idle_in_transaction_session_timeout: 10_000,
    // The client gives up later than the server, so that the server's own error is the one that is seen.
    query_timeout: statementTimeoutMs + 2_000,
  } as const satisfies pg.PoolConfig;
}

/**
 * How the server plans statements of a pool with `steadyPlans`: once per connection, never compiled, and by indexes also where
 * a table has nothing in it yet.
 */
export const STEADY_PLAN_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  enable_seqscan: 'off',
} as const;

const optionsOf = (settings: Readonly<Record<string, string | number>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');

/** A plan that was made for what a table held goes with its connection. */
const STEADY_PLANS = {
  options: optionsOf(STEADY_PLAN_SETTINGS),
  maxLifetimeSeconds: 60,
} as const satisfies pg.PoolConfig;

/**
 * How the server plans all other statements. They are short and many: nothing is compiled and no helpers are started for
 * them, and a page that is anywhere is hardly dearer than the next one, as with solid-state disks and in memory. Else a
 * tenth of a large table makes PostgreSQL read all of it.
 */
const SHORT_STATEMENTS = {
  options: optionsOf({ jit: 'off', max_parallel_workers_per_gather: 0, random_page_cost: 1.1 }),
} as const satisfies pg.PoolConfig;

/** How long statements may run, in milliseconds, and how many connections there are. */
export interface PoolOptions {
  url: string;
  max: number;
  statementTimeoutMs: number;
  applicationName: string;
  /**
   * Plans made once, without looking at the values, and never compiled: for few statements that run very often and
   * whose right plan is known. Default: PostgreSQL's choice for short statements.
   */
  steadyPlans?: boolean;
}

/**
 * A pool of PostgreSQL connections with named statements: the hot paths' way to the database (the ORM inlines
 * parameters and is planned anew each time).
 */
export class SqlPool implements Sql {
  readonly #pool: pg.Pool;

  constructor(options: PoolOptions) {
    this.#pool = new pg.Pool({
      connectionString: options.url,
      max: options.max,
      ...connectionLimits(options.statementTimeoutMs),
      ...(options.steadyPlans ? STEADY_PLANS : SHORT_STATEMENTS),
      types,
      application_name: options.applicationName,
    });
    // Connections the server drops are replaced by the pool, and whoever uses one is told by the next statement; without
    // listeners, of the pool for idle ones and of each for the others, they would end the process.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  query<R extends object = Record<string, unknown>>(
    text: string,
    values: readonly unknown[] = [],
    options: QueryOptions = {},
  ): Promise<R[]> {
    return run<R>(this.#pool, text, values, options);
  }

  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. Never talk to the
   * network inside.
   */
  async transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    try {
      await client.query('begin');
      const sql: Sql = {
        query: (text, values = [], options = {}) => run(client, text, values, options),
      };
      const waiting: (() => void)[] = [];
      afterwards.set(sql, waiting);
      const result = await work(sql);
      await client.query('commit');
      for (const next of waiting) next();
      return result;
    } catch (error) {
      // A connection that cannot even do this is not given to the next.
      await client.query('rollback').catch((cause: Error) => (broken = cause));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** What is to be done after the commit of each open transaction. */
const afterwards = new WeakMap<Sql, (() => void)[]>();

/**
 * Runs `work` once the transaction of `sql` has committed, and not at all if it does not; at once when `sql` is a pool.
 * `work` must not throw. Nothing that has to happen may rely on it: the process may end in between.
 */
export function afterCommit(sql: Sql, work: () => void): void {
  const waiting = afterwards.get(sql);
  if (waiting) waiting.push(work);
  else work();
}

/** Rows as arrays of their values, a column each in the order of `names`: what `unnest` takes. */
export function columnsOf<R extends object, N extends keyof R>(
  rows: readonly R[],
  ...names: N[]
): R[N][][] {
  return names.map((name) => rows.map((row) => row[name]));
}

/** The ids of rows, in their order. */
export function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}

/** Rows as JSON with their keys in snake_case, as columns have them: what `jsonb_to_recordset` takes. */
export function recordset(rows: readonly object[]): string {
  const column = (name: string) =>
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const record = (row: object) =>
    Object.entries(row).map(([name, value]) => [column(name), value as unknown]);
  return JSON.stringify(rows.map((row) => Object.fromEntries(record(row)) as object));
}

/** The request pool (features inject this). The engine has one of its own. */
export class Database extends SqlPool {}

/** The same for transactions of the ORM, by its own handle of them. */
const ofTransactions = new WeakMap<object, (() => void)[]>();

/** Tells that a transaction of the ORM has committed; for the one who hears it from the ORM. */
export function committed(transaction: object): void {
  const waiting = ofTransactions.get(transaction) ?? [];
  ofTransactions.delete(transaction);
  for (const next of waiting) next();
}

/**
 * The transaction an `em.transactional(async (em) => …)` has open, as `Sql`.
 */
export function sqlOf(em: EntityManager): Sql {
  const sql: Sql = {
    async query<R extends object>(text: string, values: readonly unknown[] = []) {
      const result = await em.getKysely().executeQuery<R>(CompiledQuery.raw(text, [...values]));
      return result.rows;
    },
  };
  const transaction = em.getTransactionContext<object>();
  if (transaction) {
    const waiting = ofTransactions.get(transaction) ?? [];
    ofTransactions.set(transaction, waiting);
    afterwards.set(sql, waiting);
  }
  return sql;
}
