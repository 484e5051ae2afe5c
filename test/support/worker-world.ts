import { randomBytes } from 'node:crypto';
import { SqlPool } from '../../src/platform/database/sql.ts';
import type { TestAccount } from './factories.ts';
import { Invariants } from './invariants.ts';
import {
  type ServerProcess,
  type ServerProcessOptions,
  startServerProcess,
} from './server-process.ts';
import type { AcceptedMessage } from './smtp-sink-protocol.ts';
import { createTestDatabase } from './test-database.ts';
import { until } from './until.ts';

/** Jobs that are still open, with their last attempts, for the message of a failed test. */
const STILL_OPEN = `
  select s.action, s.status, s.reason, a.attempt, a.outcome, a.code, a.rule, a.detail
  from job_status s left join lateral (
    select * from job_attempt a where a.job_id = s.id order by started_at desc limit 5) a on true
  where s.status in ('pending', 'delayed') order by s.id limit 20`;
const HASTEN_EVERY_MS = 300;

/** An account of the fault tests. */
export interface FaultAccount extends TestAccount {
  /** Whether the provider can be asked what it has sent. */
  hasSentFolder: boolean;
}

/** The database of a world. */
export interface WorldDatabase {
  url: string;
  sql: SqlPool;
  drop: () => Promise<void>;
}

/** @param given URL of a migrated database; default: a new one on the test server */
export async function openWorldDatabase(given?: string): Promise<WorldDatabase> {
  const database = given === undefined ? await createTestDatabase() : null;
  const url = given ?? database?.url ?? '';
  const sql = new SqlPool({ url, max: 4, statementTimeoutMs: 15_000, applicationName: 'test' });
  return { url, sql, drop: async () => database?.drop() };
}

/**
 * Worker processes of the built program, their database, and a check of the invariants that never
 * pauses. A subclass has the provider that the processes send to.
 */
export abstract class WorkerWorld {
  readonly accounts: FaultAccount[] = [];
  readonly invariants: Invariants;
  readonly databaseUrl: string;
  readonly sql: SqlPool;
  /** Environment of every process. A subclass may add to it before the first one starts. */
  readonly environment: Record<string, string>;
  readonly #starting: Promise<ServerProcess>[] = [];
  readonly #drop: () => Promise<void>;

  /** @param entry the file that the processes run; default: the program's own */
  protected constructor(
    { url, sql, drop }: WorldDatabase,
    private readonly entry?: string,
  ) {
    this.databaseUrl = url;
    this.sql = sql;
    this.#drop = drop;
    this.invariants = new Invariants(sql);
    this.environment = {
      DATABASE_URL: url,
      ENCRYPTION_KEYS: `k:${randomBytes(32).toString('base64')}`,
      EGRESS_ALLOW: '127.0.0.0/8',
      LOG_LEVEL: 'warn',
      RATE_LIMIT_CONCURRENT: '0',
    };
  }

  /** Every message that the provider has accepted, repetitions included. */
  abstract accepted(): Promise<AcceptedMessage[]>;

  /** Starts a process with both roles. */
  async startServer(
    environment: Record<string, string> = {},
    options: Omit<ServerProcessOptions, 'entry'> = {},
  ): Promise<ServerProcess> {
    const starting = startServerProcess(
      { ...this.environment, ...environment },
      { ...options, ...(this.entry === undefined ? {} : { entry: this.entry }) },
    );
    this.#starting.push(starting);
    return starting;
  }

  /** Runs a query that returns a single number `n`. */
  async count(text: string, values: readonly unknown[] = []): Promise<number> {
    return (await this.sql.query<{ n: number }>(text, values))[0]?.n ?? 0;
  }

  /** Number of jobs that are still open. */
  open(): Promise<number> {
    return this.count(
      `select count(*) as n from job_status where status in ('pending', 'delayed')`,
    );
  }

  /**
   * Waits until every job has ended.
   * @param hasten skips the waits for retries, look-ups and closed rate gates: of every account,
   *   or only of those without a Sent folder
   */
  async settled({
    hasten,
    limitMs = 90_000,
  }: { hasten?: 'all' | 'unasked'; limitMs?: number } = {}): Promise<void> {
    let hastenedAt = -Infinity;
    await until(
      'every job to end',
      async () => {
        if (hasten && performance.now() - hastenedAt > HASTEN_EVERY_MS) {
          await this.hasten(hasten);
          hastenedAt = performance.now();
        }
        return (await this.open()) === 0;
      },
      limitMs,
    ).catch(async (error: unknown) => {
      throw new Error(JSON.stringify(await this.sql.query(STILL_OPEN), null, 1), { cause: error });
    });
  }

  /**
   * Ends the waits of the retry schedule at once, because no test can wait for minutes or hours.
   * Rows that have not been attempted yet and claimed rows are left alone.
   */
  async hasten(whose: 'all' | 'unasked' = 'all'): Promise<void> {
    const ids = this.accounts
      .filter(({ hasSentFolder }) => whose === 'all' || !hasSentFolder)
      .map(({ id }) => id);
    await this.sql.query(
      `update send_job set run_at = now() where id in (
         select id from send_job
         where state = 0 and run_at > now() and (attempt > 0 or ambiguous) and account_id = any($1::uuid[])
         order by id for update skip locked)`,
      [ids],
    );
    await this.sql.query(
      'update account_gate set closed_until = now() where closed_until > now() and account_id = any($1::uuid[])',
      [ids],
    );
  }

  async close(): Promise<void> {
    await this.invariants.end();
    for (const started of await Promise.allSettled(this.#starting)) {
      if (started.status === 'fulfilled') await started.value.kill();
    }
    await this.sql.close();
    await this.#drop();
  }
}
