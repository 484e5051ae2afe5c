import { Signals } from '../../src/platform/work/signals.ts';
import type {
  ClaimedRow,
  Dispatcher,
  RateGateSignal,
  LateRow,
  Lease,
  Outcome,
  QueueTable,
  Settled,
} from '../../src/platform/work/queue/dispatcher.ts';
import { type AppConfig, loadConfig } from '../../src/platform/config/app-config.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { type Sql, SqlPool } from '../../src/platform/database/sql.ts';
import { Engine } from '../../src/platform/work/engine.ts';
import { createTestDatabase } from './test-database.ts';
import { until } from './until.ts';

const TABLE: QueueTable = {
  queue: 'send',
  table: 'send_job',
  gateColumn: 'account_id',
  columns: {},
  breaker: { troubles: 5, firstStopSeconds: 30, longestStopSeconds: 900 },
  deadlineColumn: 'retry_limit_at',
};

/** Runs queue rows with a function of the test, and remembers the recorded results. */
export class ProbeDispatcher implements Dispatcher<ClaimedRow, string> {
  readonly table: QueueTable;
  readonly mostBeforeHandOff?: number;
  readonly recorded: string[] = [];
  readonly begun: string[] = [];
  readonly late: LateRow[] = [];
  failRecord: (ids: readonly string[]) => boolean = () => false;

  constructor(
    readonly slots: number,
    private readonly work: (
      job: ClaimedRow,
      lease: Lease,
      loaded: object | undefined,
    ) => Promise<Outcome<string> | null>,
    { mostUnbegun, ...table }: Partial<QueueTable> & { mostUnbegun?: number } = {},
  ) {
    this.table = { ...TABLE, ...table };
    if (mostUnbegun !== undefined) this.mostBeforeHandOff = mostUnbegun;
  }

  run(job: ClaimedRow, lease: Lease, loaded?: object): Promise<Outcome<string> | null> {
    this.begun.push(job.id);
    return this.work(job, lease, loaded);
  }

  onError(job: ClaimedRow): Outcome<string> {
    return { next: { kind: 'done' }, result: `error ${job.id}` };
  }

  onPoison(job: ClaimedRow): Outcome<string> {
    return { next: { kind: 'done' }, result: `poison ${job.id}` };
  }

  async record(_sql: Sql, settled: readonly Settled<ClaimedRow, string>[]): Promise<void> {
    if (this.failRecord(settled.map(({ row }) => row.id)))
      throw new Error('a result that cannot be stored');
    for (const { result } of settled) this.recorded.push(result);
  }

  async recordLate(_sql: Sql, late: readonly LateRow[]): Promise<void> {
    this.late.push(...late);
  }
}

/** The outcome of a finished row. */
export const done = (job: ClaimedRow): Outcome<string> => ({
  next: { kind: 'done' },
  result: job.id,
});

/** The outcome of a row that is retried in an hour. @param gate what it reports to the rate gate */
export const failed = (job: ClaimedRow, gate: RateGateSignal): Outcome<string> => ({
  next: { kind: 'again', at: new Date(Date.now() + 3_600_000), ambiguous: false },
  result: `failed ${job.id}`,
  gate,
});

/** The columns of a queue row that tests compare. */
export interface QueueRow {
  id: string;
  state: number;
  attempt: number;
  ambiguous: boolean;
  crashes: number;
  worker_id: number | null;
  run_at: Date;
  due_at: Date;
}

/** The columns of an account's rate gate that tests compare. */
export interface RateGateRow {
  failures: number;
  /** Seconds until the circuit breaker is testing, or `null` if it is not stopped now. */
  stoppedFor: number | null;
  reason: string | null;
}

/** Engines over a queue in a test database, without the rest of the program. */
export interface EngineFixture {
  sql: SqlPool;
  /** URL of the database. */
  url: string;
  /**
   * Starts an engine with ten ticks a second; the product's ticks come from a Nest cron.
   * @param environment settings in addition to the fixture's
   */
  begin(dispatcher: ProbeDispatcher, environment?: Record<string, string>): Promise<Engine>;
  stop(engine: Engine): Promise<void>;
  /** Inserts queue rows of one account. @returns their ids */
  insertRows(count: number, account?: string, dueInMs?: number): Promise<string[]>;
  rows(): Promise<QueueRow[]>;
  gate(account: string): Promise<RateGateRow | undefined>;
  /** Waits until the queue is empty. */
  empty(): Promise<unknown>;
  close(): Promise<void>;
}

/** Creates a test database and a fixture over it. */
export async function startEngineFixture(): Promise<EngineFixture> {
  const database = await createTestDatabase();
  const configOf = (environment: Record<string, string>): AppConfig =>
    loadConfig({
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
      SHUTDOWN_SECONDS: '2',
      ...environment,
    });
  const sql = new SqlPool({
    url: database.url,
    max: 4,
    statementTimeoutMs: 5000,
    applicationName: 'test',
  });
  const engines: Engine[] = [];
  const ticking = setInterval(() => void Promise.all(engines.map((engine) => engine.tick())), 100);

  const stop = async (engine: Engine) => {
    const index = engines.indexOf(engine);
    if (index >= 0) engines.splice(index, 1);
    await engine.onModuleDestroy();
    await engine.beforeApplicationShutdown();
    await engine.onApplicationShutdown();
  };
  const rows = () => sql.query<QueueRow>('select * from send_job');

  return {
    sql,
    url: database.url,
    stop,
    rows,
    async gate(account) {
      const [row] = await sql.query<RateGateRow>(
        `select failures, extract(epoch from closed_until - now())::float8 as "stoppedFor", close_reason as reason
         from account_gate where account_id = $1`,
        [account],
      );
      return row;
    },
    async begin(dispatcher, environment = {}) {
      const engine = new Engine(configOf(environment), [dispatcher], new Signals());
      engines.push(engine);
      await engine.onApplicationBootstrap();
      return engine;
    },
    async insertRows(count, account = newId(), dueInMs = 0) {
      const ids = Array.from({ length: count }, newId);
      await sql.query(
        `insert into send_job (id, account_id, run_at, due_at, retry_limit_at)
         select id, $2, now() + $3 * interval '1 ms', now(), now() + interval '1 day' from unnest($1::uuid[]) id`,
        [ids, account, dueInMs],
      );
      return ids;
    },
    empty: () => until('the queue to be empty', async () => (await rows()).length === 0),
    async close() {
      clearInterval(ticking);
      for (const engine of engines.splice(0)) await stop(engine);
      await sql.close();
      await database.drop();
    },
  };
}
