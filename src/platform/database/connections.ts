import pg from 'pg';
import { commitWaits } from './commit-waits.ts';
import { cannotShow, SERVER_COLUMNS, type ServerRow, timelines } from './health/timelines.ts';
import { KeptQuery } from './kept-query.ts';
import { parseTimestamp } from './timestamps.ts';

/* How connections to PostgreSQL are set up, what limits them, and how their values are read. */

const BIGINT_OID = 20;
const TIMESTAMPTZ_OID = 1184;
/**
 * How values of the database are read, in the pools and in the ORM: timestamps as Date, bigints as
 * number.
 */
export const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    // Our bigints are counters and cursors, far below 2^53.
    if (oid === BIGINT_OID) return Number;
    if (oid === TIMESTAMPTZ_OID && format !== 'binary') return parseTimestamp;
    return pg.types.getTypeParser(oid, format as 'text');
  },
} as pg.CustomTypesConfig;

/** Settings of a session, by the names that PostgreSQL has for them. */
type SessionSettings = Readonly<Record<string, string | number>>;

/** Limits of connections to PostgreSQL. */
export interface ConnectionLimits {
  /** Maximum time that a statement may run, in milliseconds. */
  statementTimeoutMs: number;
  /** Further settings of the session. Default: none. */
  settings?: SessionSettings;
  /** See `PoolOptions`. */
  transactionPooling?: boolean;
  /** See `PoolOptions`. */
  standby?: { connectMs: number; greet: typeof greet } | undefined;
}

/**
 * How long a client waits for the answer to a statement, in milliseconds. Longer than the server's
 * own limit, so that the server's error is reported.
 */
export const answerLimitMs = (statementTimeoutMs: number): number => statementTimeoutMs + 2_000;

/**
 * Runs a statement, and closes its connection if the server does not answer; then the statement
 * fails. The driver could do both, with `query_timeout` and with promises. But each of these keeps
 * the rows of most statements alive until the next full garbage collection (bench/history.md,
 * "Reading").
 */
export async function answered<R extends pg.QueryResultRow>(
  client: pg.Client,
  limitMs: number,
  statement: pg.QueryConfig,
): Promise<pg.QueryResult<R>> {
  const limit = setTimeout(() => {
    // The statement reports what is wrong.
    client.end().catch(() => undefined);
  }, limitMs);
  try {
    return await new Promise((resolve, reject) => {
      const query = new KeptQuery(statement, types, (error, result) => {
        if (error) reject(error);
        else resolve(result as pg.QueryResult<R>);
      });
      client.query(query);
    });
  } catch (error) {
    // Otherwise the error would name the socket from which it came, and not who sent the statement.
    if (error instanceof Error) Error.captureStackTrace(error);
    throw error;
  } finally {
    clearTimeout(limit);
  }
}

/** Select list that sets what the connections of a pool have in common. */
const settingsList = (settings: SessionSettings): string =>
  Object.entries(settings)
    .map(([name, value]) => `set_config('${name}', '${value}', false)`)
    .join(', ');

/** The driver knows the process id, too, but behind a pooler that is the pooler's. */
const SESSION = 'pg_backend_pid() as session';
interface SessionRow {
  session: number;
}

/**
 * Prepares a new connection in one round trip: sets its settings, and reads to which server
 * (docs/adr/0127) and to which of its sessions the connection leads.
 * @param settings select list of settings; default: none
 * @throws {OldTimelineError} if the server was replaced: close the connection
 */
export async function greet(
  client: pg.ClientBase,
  limitMs: number,
  settings?: string,
): Promise<void> {
  // The clients of a pool are of this class, although its type does not say so.
  const read = <R extends object>(list: string) =>
    answered<R & pg.QueryResultRow>(client as pg.Client, limitMs, { text: `select ${list}` });
  const list = settings ? `${settings}, ${SESSION}` : SESSION;
  if (timelines.readable) {
    try {
      const [row] = (await read<ServerRow & SessionRow>(`${list}, ${SERVER_COLUMNS}`)).rows;
      if (!row) return;
      commitWaits.watch(client, row.session);
      timelines.admit(client, row);
      return;
    } catch (error) {
      // Any other error is that of this connection, and must not end the comparison.
      if (!cannotShow(error)) throw error;
      timelines.noteUnreadable(error);
    }
  }
  const [row] = (await read<SessionRow>(list)).rows;
  if (row) commitWaits.watch(client, row.session);
}

/**
 * Options of every pool of connections to PostgreSQL, the ORM's included. No process waits without
 * limit for a connection, a lock, or an open transaction that was left idle, and the server ends
 * statements that take too long. How long a client waits for a server that does not answer at all
 * is the pool's own matter (`answerLimitMs`).
 * Connections that are not needed are closed after ten seconds.
 */
export function connectionOptions({
  statementTimeoutMs,
  settings = {},
  transactionPooling = false,
  standby = { connectMs: 5_000, greet },
}: ConnectionLimits) {
  const all = settingsList({
    statement_timeout: statementTimeoutMs,
    lock_timeout: Math.ceil(statementTimeoutMs / 2),
    idle_in_transaction_session_timeout: 10_000,
    ...settings,
  });
  return {
    idleTimeoutMillis: 10_000,
    connectionTimeoutMillis: standby.connectMs,
    keepAlive: true,
    // Not sent with the start of the connection: PgBouncer refuses all such settings, or ignores
    // them. With transaction pooling a setting would stay on a connection that others use.
    ...(transactionPooling
      ? {}
      : {
          onConnect: (client: pg.ClientBase) =>
            standby.greet(client, answerLimitMs(statementTimeoutMs), all),
        }),
  } satisfies pg.PoolConfig;
}

/**
 * Planner settings of a pool with `steadyPlans`: statements are planned once per connection and
 * never compiled, and plans use indexes even while a table is empty. Without bitmap scans, rows
 * that are found by their ids are also locked in the order of their ids (docs/adr/0004).
 */
export const STEADY_PLAN_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
} as const;

/**
 * A plan depends on what the tables held when it was made, so connections are replaced after a
 * minute.
 */
export const STEADY_PLAN_SECONDS = 60;

/**
 * Planner settings of all other pools, for short and frequent statements: no compilation and no
 * parallel workers. Reading a random page costs hardly more than reading the next one, as on
 * solid-state disks or in memory. With the default cost, PostgreSQL would read all of a large table
 * to find a tenth of it.
 */
export const SHORT_STATEMENT_SETTINGS = {
  jit: 'off',
  max_parallel_workers_per_gather: 0,
  random_page_cost: 1.1,
} as const;
