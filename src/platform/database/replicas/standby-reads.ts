import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { Logger } from '../../nest/light.ts';
import { databaseTrouble, describeDatabaseTrouble } from '../health/database-trouble.ts';
import {
  type PoolOptions,
  type QueryOptions,
  type Sql,
  type SqlConnection,
  SqlPool,
} from '../sql.ts';
import { PrimaryPosition } from './primary-position.ts';
import { ReadDatabase, type ReadCounts, type ReadRoute } from './read-database.ts';
import { StandbySessions } from './standby-sessions.ts';
import { StandbyUnusableError } from './standby-unusable-error.ts';

/** Between two checks of the standby. */
const CHECK_MS = 1_000;
/** How long a check may take. Then the standby counts as away, and its statements are given up. */
const CHECK_LIMIT_MS = 2_000;
/** How long opening a connection to the standby may take. */
const CONNECT_MS = 1_000;
/** SQLSTATE of a statement that ran into its time limit. It would do so on the primary, too. */
const CANCELLED = '57014';

/**
 * Sends reads to a standby while that is safe, and to the primary otherwise. A read that fails on
 * the standby is repeated on the primary once. After a failure that concerns the standby itself, no
 * read goes there until a check succeeds.
 */
export class StandbyReads
  extends ReadDatabase
  implements OnApplicationBootstrap, OnApplicationShutdown
{
  readonly counts: ReadCounts = { standby: 0, primary: 0, repeated: 0 };
  readonly #log = new Logger('Database');
  readonly #primary: SqlConnection;
  readonly #position: PrimaryPosition;
  readonly #sessions: StandbySessions;
  readonly #standby: SqlPool;
  /** Its one connection is for checks, so that a busy pool does not look like a broken standby. */
  readonly #checks: SqlPool;
  #problem: string | null = 'has not been checked yet';
  #checking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /**
   * @param primary the request pool
   * @param options of the pool of connections to the standby
   */
  constructor(primary: SqlConnection, options: Omit<PoolOptions, 'standby'>) {
    super();
    this.#primary = primary;
    this.#position = new PrimaryPosition(primary);
    this.#sessions = new StandbySessions(this.#position);
    const { greet, admit } = this.#sessions;
    const standby = { connectMs: CONNECT_MS, greet, admit };
    this.#standby = new SqlPool({ ...options, standby });
    const applicationName = `${options.applicationName}-check`;
    this.#checks = new SqlPool({ ...options, max: 1, applicationName, standby });
  }

  onApplicationBootstrap(): void {
    void this.#check();
    this.#timer = setInterval(() => void this.#check(), CHECK_MS);
    this.#timer.unref();
  }

  async onApplicationShutdown(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#checking;
    await Promise.all([this.#standby.close(), this.#checks.close()]);
  }

  get route(): ReadRoute {
    const problem = this.#problem;
    return { from: problem === null ? 'standby' : 'primary', problem };
  }

  override query<R extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<R[]> {
    return this.#read((sql) => sql.query<R>(text, values, options));
  }

  override transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#read((sql) => sql.transaction(work));
  }

  async #read<T>(work: (sql: SqlConnection) => Promise<T>): Promise<T> {
    if (this.#problem !== null) {
      this.counts.primary += 1;
      return work(this.#primary);
    }
    try {
      const result = await work(this.#standby);
      this.counts.standby += 1;
      return result;
    } catch (error) {
      if ((error as { code?: unknown }).code === CANCELLED) throw error;
      this.#noteFailure(error);
      // An error that is not the standby's fault comes again.
      this.counts.repeated += 1;
      return work(this.#primary);
    }
  }

  /** A conflict with replay, or a busy pool, concerns one read only. */
  #noteFailure(error: unknown): void {
    if (error instanceof StandbyUnusableError) this.#note(error.problem);
    else if (databaseTrouble(error) === 'away' && !isFullPool(error))
      this.#note(describeDatabaseTrouble(error));
  }

  #check(): Promise<void> {
    this.#checking ??= this.#checkNow().finally(() => (this.#checking = null));
    return this.#checking;
  }

  async #checkNow(): Promise<void> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const limit = setTimeout(() => reject(new Error('timeout expired')), CHECK_LIMIT_MS);
    const probe = this.#probe();
    probe.catch(() => undefined);
    try {
      await Promise.race([probe, late]);
      this.#note(null);
    } catch (error) {
      if (error instanceof StandbyUnusableError) return this.#note(error.problem);
      this.#note(describeDatabaseTrouble(error));
      // Otherwise statements on their way would wait for a frozen server for as long as they may.
      this.#sessions.cut(error as Error);
    } finally {
      clearTimeout(limit);
    }
  }

  /** Reads through the standby, as a request does. */
  async #probe(): Promise<void> {
    this.#sessions.expect(await this.#position.server());
    this.#sessions.forget();
    await this.#checks.query('select');
  }

  #note(problem: string | null): void {
    if (problem === this.#problem || this.#stopped) return;
    this.#problem = problem;
    if (problem === null) this.#log.warn('reads go to the standby of DATABASE_READ_URL');
    else
      this.#log.warn(
        `reads go to the primary: the standby of DATABASE_READ_URL ${problem} (docs/read-replicas.md)`,
      );
  }
}

/** Whether a read found all connections to the standby in use for too long. */
function isFullPool(error: unknown): boolean {
  const { message } = error as { message?: unknown };
  return message === 'timeout exceeded when trying to connect';
}
