import { z } from 'zod';
import { databaseUrlProblem, standbyUrlProblem } from '../database-url.ts';
import { wholeNumber } from '../whole-number.ts';

/** Fewest connections with which a process of both roles works. */
const FEWEST_CONNECTIONS = 10;
/** One for notifications, and two for metrics and readiness. */
const OF_EVERY_PROCESS = 3;
/** The heartbeat of a worker has a connection of its own. */
const OF_WORKERS = 1;
/** The engine claims, loads and settles at the same time. */
const FEWEST_OF_ENGINE = 4;

/** Variables of the database's connections. */
export const databaseVariables = {
  DATABASE_URL: z
    .string()
    .check(({ value, issues }) => {
      const message = databaseUrlProblem(value);
      if (message !== null) issues.push({ code: 'custom', message, input: value });
    })
    .optional(),
  DATABASE_READ_URL: z
    .string()
    .check(({ value, issues }) => {
      const message = standbyUrlProblem(value);
      if (message !== null) issues.push({ code: 'custom', message, input: value });
    })
    .optional(),
  DATABASE_POOL: wholeNumber(1, 200).default(10),
  DATABASE_CONNECTIONS: wholeNumber(FEWEST_CONNECTIONS, 1_000).optional(),
  DATABASE_POOLING: z
    .enum(['session', 'transaction'], 'must be session or transaction')
    .default('session'),
  DATABASE_SYNCHRONOUS: z
    .enum(['optional', 'expected', 'required'], 'must be optional, expected or required')
    .default('optional'),
  DATABASE_DISK_GB: wholeNumber(0, 10_000_000).default(0),
};

type DatabaseEnvironment = z.infer<z.ZodObject<typeof databaseVariables>>;

/** Largest number of connections in each pool of a process. Pools close connections when idle. */
export interface PoolSizes {
  /** Statements of requests and recurring work. */
  requests: number;
  /** The ORM. */
  orm: number;
  /** The engine; 0 in processes without the role `worker`. */
  engine: number;
}

/** Divides the connections of a process among its pools. */
function poolSizes(
  { DATABASE_CONNECTIONS: most, DATABASE_POOL: each }: DatabaseEnvironment,
  isWorker: boolean,
): PoolSizes {
  if (most === undefined) {
    const engine = isWorker ? Math.max(FEWEST_OF_ENGINE, Math.ceil(each / 2)) : 0;
    return { requests: each, orm: each, engine };
  }
  const shared = most - OF_EVERY_PROCESS - (isWorker ? OF_WORKERS : 0);
  const engine = isWorker ? Math.max(FEWEST_OF_ENGINE, Math.round(shared / 5)) : 0;
  const orm = Math.floor((shared - engine) / 2);
  return { requests: shared - engine - orm, orm, engine };
}

/**
 * The settings of the database's connections.
 * @param roles roles of this process
 * @param problems gets a line for each contradiction
 */
export function databaseConfig(
  env: DatabaseEnvironment,
  roles: readonly string[],
  problems: string[],
) {
  const isWorker = roles.includes('worker');
  const transactionPooling = env.DATABASE_POOLING === 'transaction';
  if (transactionPooling && isWorker)
    problems.push(
      'DATABASE_POOLING: transaction is only for processes with ROLES=api; workers hold locks and listen for notifications, which need a session',
    );
  const pools = poolSizes(env, isWorker);
  const own = OF_EVERY_PROCESS + (isWorker ? OF_WORKERS : 0);
  return {
    /**
     * URL of a standby that answers reads of the API; `null` = the primary answers them all
     * (docs/read-replicas.md).
     */
    readUrl: env.DATABASE_READ_URL ?? null,
    /** Largest number of connections in each pool. */
    pools,
    /** Largest number of connections that this process opens to the server of `DATABASE_URL`. */
    connections: pools.requests + pools.orm + pools.engine + own,
    /**
     * Whether a pooler gives each transaction another connection. Then nothing is kept in a
     * session: no prepared statements, no settings, no listening for notifications.
     */
    transactionPooling,
    /**
     * Whether commits should wait for a synchronous standby (docs/failover.md). `optional`: they
     * need not. `expected`: operators are alerted if they do not. `required`: changes are also
     * refused then.
     */
    synchronous: env.DATABASE_SYNCHRONOUS,
    /**
     * Space that the database may take on its disk, in gigabytes (1024³ bytes); `null` = not known.
     * Only to forecast when the disk is full.
     */
    diskGigabytes: env.DATABASE_DISK_GB === 0 ? null : env.DATABASE_DISK_GB,
  };
}
