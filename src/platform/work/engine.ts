import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { moment, monotonicMs } from '../base/time/clock.ts';
import { type QueueName, Signals } from './signals.ts';
import { CurrentWorker } from './workers/current-worker.ts';
import type { AnyDispatcher, QueueTable } from './queue/dispatcher.ts';
import { WorkPermit } from './workers/work-permit.ts';
import { workerDeaths } from '../metrics/queue-metrics.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { CommitsWaitError } from '../database/commit-waits.ts';
import { SqlPool } from '../database/sql.ts';
import { lookAfterSilence } from '../database/health/timeline-watch.ts';
import { timelines } from '../database/health/timelines.ts';
import { markStragglers } from './workers/failover.ts';
import { InstanceCheck, type HeartbeatResult } from './workers/instance-check.ts';
import { databaseTrouble, describeDatabaseTrouble } from '../database/health/database-trouble.ts';
import type { Problem } from './readiness.ts';
import { LOOK_AHEAD_MS } from './queue/claim-pace.ts';
import { QueueRunner } from './queue/queue-runner.ts';
import { describeSwept, type Swept } from './workers/lost-workers.ts';
import { beatStatement, rescueStatement, sweepStatement } from './queue/queue-statements.ts';
import { WorkerIdentity } from './workers/worker-identity.ts';

/** Nest token of the list of dispatchers, one for each queue. */
export const DISPATCHERS = Symbol('Dispatchers');

/**
 * What a heartbeat returns: milliseconds until the next due row of each queue, the values that
 * `InstanceCheck` compares, and five flags. `orphaned` and `disconnected` are always false for a
 * worker that is not the leader (`beatStatement`).
 * - `alive`: 1 while this worker's row in `worker` exists, else 0.
 * - `dead`: whether another worker sends no heartbeats any more.
 * - `orphaned`: whether workers that are no longer listed still have claimed rows.
 * - `disconnected`: whether workers without a connection have claimed rows that were not handed
 *   off.
 * - `stragglers`: whether it is time to mark rows that another worker may send from an old server.
 */
type Flags = { dead: boolean; orphaned: boolean; disconnected: boolean; stragglers: boolean };
type Beat = HeartbeatResult & { alive: number } & Flags & Partial<Record<QueueName, number | null>>;

const NOTHING_FOUND: Flags = {
  dead: false,
  orphaned: false,
  disconnected: false,
  stragglers: false,
};
const STATEMENT_MS = 5_000;
/** A heartbeat is due each second. */
const LONGEST_SILENCE_MS = 10_000;
/** Queues that are advanced within this time share a heartbeat. */
const SHARED_FOR_MS = 500;

/**
 * The engine of due work. It claims due rows of every queue and lets the queue's dispatcher run
 * them (docs/architecture.md, "Due work"). It runs only in processes with the role `worker`. All
 * its state is in the database, so any number of workers may run.
 */
@Injectable()
export class Engine
  implements
    OnApplicationBootstrap,
    OnModuleDestroy,
    BeforeApplicationShutdown,
    OnApplicationShutdown
{
  readonly #log = new Logger(Engine.name);
  readonly #sql: SqlPool;
  /**
   * Results have connections of their own. A statement is planned on each connection that runs it,
   * so fewer plans are made if each connection runs fewer statements.
   */
  readonly #results: SqlPool;
  /**
   * The heartbeat has a connection of its own, so that it never waits behind the work whose leases
   * it keeps alive.
   */
  readonly #pulse: SqlPool;
  readonly #identity = new WorkerIdentity();
  readonly #guard: InstanceCheck;
  readonly #tables: readonly QueueTable[];
  readonly #runners: ReadonlyMap<QueueName, QueueRunner>;
  readonly #url: string;
  readonly #beats: { plain: string; withServer: string };
  readonly #sweep: string;
  readonly #rescue: string | null;
  readonly #enabled: boolean;
  readonly #shutdownMs: number;
  #lastTick = -Infinity;
  #lastBegun = -Infinity;
  /** When the next row of a queue is due, in milliseconds of the monotonic clock. */
  readonly #dueAt = new Map<QueueName, number>();
  #tickError: unknown = null;
  #found: Flags = NOTHING_FOUND;
  /**
   * Backend process id of the connection that holds this worker's advisory lock; `null` if none
   * does. Other workers test that lock to see whether this process still has a connection.
   */
  #lockedOn: number | null = null;
  #ticking: Promise<void> | null = null;
  #tidying: Promise<void> | null = null;
  #started = false;
  /** Whether the runners claim rows. */
  #claiming = false;
  #unsubscribe: () => void = () => undefined;
  #unfollow: () => void = () => undefined;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    @Inject(DISPATCHERS) dispatchers: AnyDispatcher[],
    private readonly signals: Signals,
    current: CurrentWorker = new CurrentWorker(),
    private readonly permit: WorkPermit = new WorkPermit(),
  ) {
    current.readFrom(
      () => this.#identity.id,
      () => this.#claiming && this.#identity.trusted(),
    );
    this.#enabled = config.roles.includes('worker');
    this.#shutdownMs = config.shutdownMs;
    const pool = (max: number, applicationName: string) =>
      new SqlPool({
        url: config.database.url,
        max: Math.max(1, max),
        statementTimeoutMs: STATEMENT_MS,
        applicationName,
        // Planning the claim statement takes as long as running it.
        steadyPlans: true,
      });
    const ofResults = Math.floor(config.database.pools.engine / 2);
    this.#sql = pool(config.database.pools.engine - ofResults, 'carillon-engine');
    this.#results = pool(ofResults, 'carillon-results');
    this.#pulse = new SqlPool({
      url: config.database.url,
      max: 1,
      statementTimeoutMs: STATEMENT_MS,
      applicationName: 'carillon-pulse',
    });
    const tables = dispatchers.map(({ table }) => table);
    this.#tables = tables;
    this.#guard = new InstanceCheck(config, tables);
    this.#url = config.database.url;
    this.#beats = { plain: beatStatement(tables, false), withServer: beatStatement(tables) };
    this.#sweep = sweepStatement(tables);
    this.#rescue = rescueStatement(tables);
    this.#runners = new Map(
      dispatchers.map((dispatcher) => [
        dispatcher.table.queue,
        new QueueRunner(
          { work: this.#sql, results: this.#results },
          this.#identity,
          dispatcher,
          (queue) => this.signals.send({ kind: 'overflow', queue }),
        ),
      ]),
    );
  }

  /**
   * Why the engine claims nothing: it has not ticked for 10 s. Always `null` in processes without
   * the role `worker`.
   */
  get stallProblem(): Problem | string | null {
    const silentMs = monotonicMs() - this.#lastTick;
    if (!this.#enabled || silentMs < LONGEST_SILENCE_MS) return null;
    const text = Number.isFinite(silentMs)
      ? `has not ticked for ${Math.round(silentMs / 1000)} s`
      : 'has not ticked since the start';
    if (this.#tickError === null) return text;
    const cause = databaseTrouble(this.#tickError);
    return {
      text: cause ? `${text}: the database ${describeDatabaseTrouble(this.#tickError)}` : text,
      detail: String(this.#tickError),
    };
  }

  /** Why this process must not work on the database, for readiness checks; `null` if it may. */
  get instanceProblem(): string | null {
    return this.#guard.problem;
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.#enabled) return;
    this.#unfollow = timelines.listen(() => this.#leaveServer());
    try {
      await this.#enter();
    } catch (error) {
      // The database accepts no writes at present, as without a synchronous standby. The ticks try
      // again, and the readiness check says why nothing is done.
      if (databaseTrouble(error) === null) throw error;
      this.#tickError = error;
    }
    this.#started = true;
    this.#claiming = true;
    for (const runner of this.#runners.values()) runner.start();
    this.#unsubscribe = this.signals.listen((signal) => {
      if (signal.kind === 'due') this.wakeQueue(signal.queue, signal.inMs);
    });
    await this.tick();
  }

  /**
   * Wakes a queue that may have work.
   * @param inMs milliseconds until the work is due; 0 means now
   */
  wakeQueue(queue: QueueName, inMs = 0): void {
    const runner = this.#runners.get(queue);
    if (inMs > 0) runner?.wakeIn(inMs);
    else runner?.wake();
  }

  /**
   * Lets queues claim their rows that are due, and those that become due within the next seconds at
   * their time. The heartbeat says when that is; queues that are advanced together share one.
   * Called once a second for each queue. A call that is late, missing or repeated does no harm.
   */
  async advance(...queues: readonly QueueName[]): Promise<void> {
    if (monotonicMs() - this.#lastBegun >= SHARED_FOR_MS) await this.#beatOnce();
    else await this.#ticking;
    this.#claimDue(queues);
  }

  /** Sends the heartbeat and advances all queues. */
  async tick(): Promise<void> {
    await this.#beatOnce();
    this.#claimDue(this.#runners.keys());
  }

  #claimDue(queues: Iterable<QueueName>): void {
    for (const queue of queues) {
      const dueAt = this.#dueAt.get(queue);
      if (dueAt === undefined) continue;
      this.#dueAt.delete(queue);
      this.#runners.get(queue)?.wakeIn(dueAt - monotonicMs());
    }
  }

  /**
   * Sends the heartbeat, unless one is under way, and starts a sweep in the background if one is
   * needed.
   */
  #beatOnce(): Promise<void> {
    if (!this.#started) return Promise.resolve();
    this.#lastBegun = monotonicMs();
    this.#ticking ??= this.#tick()
      .catch((error: unknown) => {
        this.#tickError = error;
        // That commits wait was said once.
        if (!(error instanceof CommitsWaitError)) this.#log.warn(`tick failed: ${String(error)}`);
      })
      .finally(() => (this.#ticking = null));
    return this.#ticking;
  }

  async #tick(): Promise<void> {
    for (const runner of this.#runners.values()) runner.tend();
    if (this.#identity.id > 0 && !this.#identity.trusted()) await lookAfterSilence(this.#url);
    if (this.#identity.id === 0) await this.#enter();
    if (this.#identity.id > 0) await this.#sendHeartbeat();
    this.#lastTick = monotonicMs();
    this.#tickError = null;
    const { dead, orphaned, disconnected, stragglers } = this.#found;
    const stale = orphaned || (dead && this.#identity.mayDeclareDead());
    if (this.#identity.id === 0 || (!stale && !disconnected && !stragglers)) return;
    this.#tidying ??= this.#tidy(stale)
      .catch((error: unknown) => this.#log.warn(`sweep failed: ${String(error)}`))
      .finally(() => (this.#tidying = null));
  }

  /**
   * Registers this process as a worker. If its permit or the instance guard forbids that, the next
   * tick tries again.
   */
  async #enter(): Promise<void> {
    if (!this.permit.granted) return;
    if (!(await this.#guard.admits(this.#pulse))) return;
    await this.#identity.register(this.#pulse, (id) => this.#guard.registered(this.#pulse, id));
    // At once: without the lock, others may take over what this process claims.
    if (this.#identity.id > 0) await this.#identity.acquireLock(this.#pulse);
  }

  async #sendHeartbeat(): Promise<void> {
    const sentAt = moment();
    const { id, epoch } = this.#identity;
    const statement = timelines.readable ? this.#beats.withServer : this.#beats.plain;
    const [beat] = await this.#pulse.query<Beat>(statement, [id]);
    // The connection led to a promoted server, where this process is not registered yet.
    if (epoch !== this.#identity.epoch) return this.#enter();
    if (!beat?.alive) {
      this.#log.warn(
        'other workers declared this process dead; its claims are void and it registers again',
      );
      this.#withdraw();
      return this.#enter();
    }
    if (!(await this.#guard.accepts(this.#pulse, beat))) {
      if (epoch === this.#identity.epoch) this.#withdraw();
      return;
    }
    this.#identity.noteBeat(sentAt);
    const { dead, orphaned, disconnected, stragglers } = beat;
    this.#found = { dead, orphaned, disconnected, stragglers };
    if (beat.backend !== this.#lockedOn && (await this.#identity.acquireLock(this.#pulse)))
      this.#lockedOn = beat.backend;
    for (const queue of this.#runners.keys()) {
      const dueInMs = beat[queue];
      if (typeof dueInMs === 'number' && dueInMs < LOOK_AHEAD_MS)
        this.#dueAt.set(queue, monotonicMs() + dueInMs);
    }
  }

  /** Declares all claimed rows void. The runners claim nothing until the next registration. */
  #withdraw(): void {
    this.#identity.forget();
    this.#dueAt.clear();
    for (const runner of this.#runners.values()) runner.abandon();
  }

  /**
   * The database failed over to another server. Nothing is claimed or handed off until this process
   * has registered there. Results of messages that have left are still written there.
   */
  #leaveServer(): void {
    this.#identity.move();
    this.#dueAt.clear();
    for (const runner of this.#runners.values()) runner.abandon('unbegun');
  }

  /**
   * Gives back the rows of dead workers, and those rows of disconnected workers that were not
   * handed off. After a failover, marks rows that become due.
   */
  async #tidy(stale: boolean): Promise<void> {
    if (this.#found.stragglers)
      await markStragglers(this.#sql, this.#tables).catch((error: unknown) =>
        this.#log.warn(`rows could not be marked after a failover: ${String(error)}`),
      );
    if (this.#found.disconnected && this.#rescue !== null) await this.#rescueFrom(this.#rescue);
    if (!stale) return;
    const [swept] = await this.#sql.query<Swept>(this.#sweep, [this.#identity.mayDeclareDead()]);
    workerDeaths.inc(swept?.dead ?? 0);
    const found = swept && describeSwept(swept);
    if (found) this.#log.warn(found);
  }

  async #rescueFrom(statement: string): Promise<void> {
    const found = await this.#sql.query<{ queue: QueueName; rows: number }>(statement, [
      this.#identity.id,
    ]);
    for (const { queue, rows } of found) {
      if (rows === 0) continue;
      this.#log.warn(
        `another worker lost its connection; ${rows} of its rows in the queue ${queue} can be claimed again`,
      );
      this.wakeQueue(queue);
    }
  }

  async onModuleDestroy(): Promise<void> {
    this.#claiming = false;
    this.#unsubscribe();
    if (!this.#started) return;
    // The heartbeat continues until every run has ended. Otherwise other workers would take the
    // rows over.
    const beating = setInterval(() => void this.tick(), 1_000);
    try {
      await Promise.all([...this.#runners.values()].map((runner) => runner.stop(this.#shutdownMs)));
    } finally {
      clearInterval(beating);
      this.#started = false;
      await Promise.all([this.#ticking, this.#tidying]);
    }
  }

  async beforeApplicationShutdown(): Promise<void> {
    const inFlight = [...this.#runners.values()].reduce((sum, runner) => sum + runner.inFlight, 0);
    // If runs are still in flight, this worker's row stays. A sweep then finds this worker dead and
    // releases its queue rows. Rows with a hand-off marker have an unknown outcome.
    if (!this.#enabled || inFlight > 0) return;
    try {
      await this.#identity.leave(this.#pulse);
    } catch (error) {
      this.#log.warn(
        `could not remove this worker's row; other workers will declare it dead: ${String(error)}`,
      );
    }
  }

  async onApplicationShutdown(): Promise<void> {
    this.#unfollow();
    await Promise.all([this.#sql.close(), this.#results.close(), this.#pulse.close()]);
  }
}
