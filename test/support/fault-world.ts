import { randomBytes } from 'node:crypto';
import type { INestApplicationContext } from '@nestjs/common';
import { createApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import type { Trigger } from '../../src/platform/webhooks/webhook-state.ts';
import { createAccount, createApplication, type TestAccount } from './factories.ts';
import { Invariants } from './invariants.ts';
import { Receiver } from './receiver.ts';
import {
  type ServerProcess,
  type ServerProcessOptions,
  startServerProcess,
} from './server-process.ts';
import { type SmtpSink, startSmtpSink } from './smtp-sink.ts';
import { createTestDatabase } from './test-database.ts';
import { until } from './until.ts';
import { createWebhook } from './webhook-fixture.ts';
import { fileURLToPath } from 'node:url';

const WORKER = fileURLToPath(new URL('./smtp-worker-process.ts', import.meta.url));
const HASTEN_EVERY_MS = 300;
const TOLD: Trigger[] = ['job.successful', 'job.failed'];

/** An account of the fault tests. */
export interface FaultAccount extends TestAccount {
  /** Whether the provider can be asked what it has sent. */
  hasSentFolder: boolean;
}

/** Options of a `FaultWorld`. */
export interface FaultWorldOptions {
  accounts: number;
  /** Says which accounts have no Sent folder; default: none. */
  withoutSentFolder?: (index: number) => boolean;
  /** A running mail server; default: a new one. The world stops it. */
  sink?: SmtpSink;
  /** Port that an account connects to; default: that of the sink. */
  portOf?: (index: number) => number;
  /** URL of a migrated database; default: a new one on the test server. */
  databaseUrl?: string;
  /**
   * Whether webhook deliveries are sent. If false they are only stored, for tests with many
   * messages.
   */
  deliver?: boolean;
}

/**
 * Everything that fault tests break. The world has worker processes of the built program that send
 * by SMTP, the mail server they send to, and their database. It also has a subscriber to job
 * notifications, and a check of the invariants that never pauses.
 */
export class FaultWorld {
  readonly accounts: FaultAccount[] = [];
  /** A sandbox account with calendars and without mail. */
  calendarAccount: TestAccount | undefined;
  readonly invariants: Invariants;
  readonly #starting: Promise<ServerProcess>[] = [];
  readonly #encryptionKeys = `k:${randomBytes(32).toString('base64')}`;

  private constructor(
    readonly databaseUrl: string,
    readonly sql: SqlPool,
    readonly sink: SmtpSink,
    readonly receiver: Receiver,
    private readonly drop: () => Promise<void>,
  ) {
    this.invariants = new Invariants(sql);
  }

  static async start(options: FaultWorldOptions): Promise<FaultWorld> {
    const database = options.databaseUrl ? null : await createTestDatabase();
    const url = options.databaseUrl ?? database?.url ?? '';
    const [sink, receiver] = await Promise.all([options.sink ?? startSmtpSink(), Receiver.start()]);
    const sql = new SqlPool({ url, max: 4, statementTimeoutMs: 15_000, applicationName: 'test' });
    const world = new FaultWorld(url, sql, sink, receiver, async () => database?.drop());
    await world.#seed(options);
    world.invariants.begin();
    return world;
  }

  /**
   * Stores the application, its webhook and its accounts directly, so that no server of ours has to
   * be up.
   */
  async #seed({
    accounts,
    withoutSentFolder,
    portOf,
    deliver = true,
  }: FaultWorldOptions): Promise<void> {
    const seed: INestApplicationContext = await createApp(
      loadConfig({ ...this.environment, ROLES: 'api', LOG_LEVEL: 'silent' }),
    );
    await seed.init();
    const application = await createApplication(seed, { features: ['sms'] });
    for (let index = 0; index < accounts; index += 1) {
      const hasSentFolder = !withoutSentFolder?.(index);
      const account = await createAccount(seed, application, {
        provider: 'imap',
        email: `sender-${index}@sink.test`,
        settings: {
          port: portOf?.(index) ?? this.sink.port,
          sent_url: hasSentFolder ? this.sink.sentUrl : null,
        },
      });
      this.accounts.push({ ...account, hasSentFolder });
    }
    this.calendarAccount = await createAccount(seed, application, {
      email: 'calendars@sandbox.test',
    });
    const state = deliver ? 'active' : 'failed';
    await createWebhook(seed, application, this.receiver.origin, { triggers: TOLD, state });
    await seed.close();
  }

  /** Environment of every process. */
  get environment(): Record<string, string> {
    return {
      DATABASE_URL: this.databaseUrl,
      ENCRYPTION_KEYS: this.#encryptionKeys,
      EGRESS_ALLOW: '127.0.0.0/8',
      LOG_LEVEL: 'warn',
      RATE_LIMIT_CONCURRENT: '0',
    };
  }

  /** Starts a process with both roles. */
  async startServer(
    environment: Record<string, string> = {},
    options: Omit<ServerProcessOptions, 'entry'> = {},
  ): Promise<ServerProcess> {
    const starting = startServerProcess(
      { ...this.environment, ...environment },
      { ...options, entry: WORKER },
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
    );
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
    await this.sink.stop();
    await this.receiver.stop();
    await this.drop();
  }
}
