import { setTimeout as delay } from 'node:timers/promises';
import { MikroORM, type Transaction } from '@mikro-orm/postgresql';
import { OperatorError } from '../platform/base/errors/operator-error.ts';
import { Logger } from '../platform/nest/light.ts';
import { ormConfig } from './mikro-orm.config.ts';

/** How long a migration waits for a lock, and how often it is tried. */
export interface LockPatience {
  /**
   * Milliseconds of one wait. Statements of requests and workers queue behind it, so it has to be
   * shorter than their own time limits.
   */
  waitMs: number;
  /** Milliseconds until the next try, in which those statements run. */
  pauseMs: number;
  /** Number of tries. */
  tries: number;
}

/** The migration that creates the whole schema of the release before. */
const INITIAL = 'Migration20261124004334_initial';
/** The last of the migrations that it replaces. */
const LAST_REPLACED = 'Migration20261124004334_audit_figures';

const PATIENCE: LockPatience = { waitMs: 2_000, pauseMs: 8_000, tries: 30 };
/**
 * SQLSTATEs of a migration that did not get a lock: after `lock_timeout`, or because of a deadlock
 * with a request.
 */
const WITHOUT_LOCK: readonly unknown[] = ['55P03', '40P01'];
/** The transaction that holds the lock waits while migrations run, however long they take. */
const UNLIMITED = 'set local idle_in_transaction_session_timeout = 0';

/** A table that a migration changes was in use during all tries. */
export class LockedTableError extends OperatorError {
  constructor(migration: string, holder: string, options: ErrorOptions) {
    super(
      'unavailable',
      `${migration} could not lock a table that it changes, and has changed nothing; ${holder}. Wait until that transaction ends, or end it with pg_terminate_backend, and run the migrations again`,
      options,
    );
  }
}

/** The database is older than the release before this one. */
export class TooOldError extends OperatorError {
  constructor() {
    super(
      'refused',
      'this database is older than the release before this one, and has not been changed; upgrade it to that release first (docs/upgrading.md)',
    );
  }
}

async function withOrm<T>(url: string, work: (orm: MikroORM) => Promise<T>): Promise<T> {
  const orm = await MikroORM.init(ormConfig(url, 3));
  try {
    return await work(orm);
  } finally {
    await orm.close(true);
  }
}

/**
 * Brings the schema up to date. It can safely run twice and in several processes at once; the
 * second one waits and has nothing to do. Each migration has a transaction of its own. If one has
 * to wait for a lock, it gives up soon and is tried again, because others queue behind it.
 * @param onMigration called when a migration begins, with its name, its place among the pending
 *   ones, and their number
 * @param patience default: 2 s in each of 30 tries, within five minutes
 * @returns names of the migrations that ran
 * @throws {LockedTableError} if a migration did not get its locks. Those before it have run.
 * @throws {TooOldError} if the database is older than the release before this one
 */
export function migrate(
  url: string,
  onMigration?: (name: string, place: number, count: number) => void,
  patience = PATIENCE,
): Promise<string[]> {
  return withOrm(url, async (orm) => {
    const connection = orm.em.getConnection();
    // Only one session migrates at a time. The lock ends with the session if this process dies.
    return connection.transactional(async (lock) => {
      await connection.execute(UNLIMITED, [], 'run', lock);
      await connection.execute('select pg_advisory_xact_lock(727001)', [], 'all', lock);
      await recordInitial(connection);
      const names = (await orm.migrator.getPending()).map(({ name }) => name);
      for (const [index, name] of names.entries()) {
        onMigration?.(name, index + 1, names.length);
        await runPatiently(orm, name, patience, lock);
      }
      return names;
    });
  });
}

/** The initial migration must not run in a database that has run the ones that it replaces. */
async function recordInitial(
  connection: ReturnType<MikroORM['em']['getConnection']>,
): Promise<void> {
  const [table] = await connection.execute<{ there: boolean }[]>(
    `select to_regclass('mikro_orm_migrations') is not null as there`,
  );
  if (!table?.there) return;
  const done = await connection.execute<{ name: string }[]>(
    'select name from mikro_orm_migrations',
  );
  // Old versions of the ORM stored names with their extension.
  const names = new Set(done.map(({ name }) => name.replace(/\.[jt]s$/, '')));
  if (names.size === 0 || names.has(INITIAL)) return;
  if (!names.has(LAST_REPLACED)) throw new TooOldError();
  await connection.execute('insert into mikro_orm_migrations (name) values (?)', [INITIAL]);
}

/** Runs one migration, again and again while it does not get a lock. */
async function runPatiently(
  orm: MikroORM,
  name: string,
  { waitMs, pauseMs, tries }: LockPatience,
  lock: Transaction,
): Promise<void> {
  const connection = orm.em.getConnection();
  for (let tried = 1; ; tried += 1) {
    try {
      return await connection.transactional(async (transaction) => {
        const limit = `set local lock_timeout = ${waitMs}`;
        await connection.execute(limit, [], 'run', transaction);
        await orm.migrator.up({ migrations: [name], transaction });
      });
    } catch (error) {
      if (!WITHOUT_LOCK.includes((error as { code?: unknown }).code)) throw error;
      const holder = await oldestTransaction(orm, lock);
      if (tried === tries) throw new LockedTableError(name, holder, { cause: error });
      new Logger('Migrations').warn(
        `${name} waited ${waitMs / 1000} s for a table that is in use, and is tried again in ${pauseMs / 1000} s (${tried} of ${tries} tries); ${holder}`,
      );
      await delay(pauseMs);
    }
  }
}

const OLDEST = `
  select pid, coalesce(nullif(application_name, ''), usename, backend_type) as program,
    round(extract(epoch from clock_timestamp() - xact_start))::int as seconds
  from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
  order by xact_start limit 1`;

/** Describes the transaction that has been open for longest, which is probably in the way. */
async function oldestTransaction(orm: MikroORM, lock: Transaction): Promise<string> {
  const connection = orm.em.getConnection();
  const [oldest] = await connection.execute<{ pid: number; program: string; seconds: number }[]>(
    OLDEST,
    [],
    'all',
    lock,
  );
  return oldest
    ? `the oldest open transaction is that of ${oldest.program} (process ${oldest.pid}), open for ${oldest.seconds} s`
    : 'this database user sees no open transaction';
}
