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
import { CurrentWorker } from './current-worker.ts';
import type { AnyDispatcher } from './dispatcher.ts';
import { WorkPermit } from './work-permit.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { SqlPool } from '../database/sql.ts';
import { InstanceGuard, type Pulse } from './instance-guard.ts';
import { LOOK_AHEAD_MS, QueueRunner } from './queue-runner.ts';
import { beatStatement, rescueStatement, sweepStatement } from './queue-statements.ts';
import { WorkerIdentity } from './worker-identity.ts';

/** Nest token of the list of dispatchers, one per queue. */
export const DISPATCHERS = Symbol('Dispatchers');

/**
 * Milliseconds until the next due row of each queue, what the guard compares, and whether dead workers hold anything, or those
 * whose connection is gone anything that has not been handed off.
 */
type Beat = Pulse & { alive: number; stale: boolean; adrift: boolean } & Partial<
    Record<QueueName, number | null>
  >;

const STATEMENT_MS = 5_000;

/**
 * The engine of due work (design 6): claims rows of every queue and lets their dispatchers run them. It runs only in
 * processes with the role `worker`; everything it knows is in the database, so any number may run.
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
  /** The heartbeat's own connection: it must not queue up behind the work whose leases it keeps. */
  readonly #pulse: SqlPool;
  readonly #identity = new WorkerIdentity();
  readonly #guard: InstanceGuard;
  readonly #runners: ReadonlyMap<QueueName, QueueRunner>;
  readonly #beat: string;
  readonly #sweep: string;
  readonly #rescue: string | null;
  readonly #enabled: boolean;
  readonly #shutdownMs: number;
  #lastTick = -Infinity;
  #stale = false;
  #adrift = false;
  /** The connection that holds the lock by which others see that this process has one. */
  #heldOn: number | null = null;
  #ticking: Promise<void> | null = null;
  #tidying: Promise<void> | null = null;
  #started = false;
  #unsubscribe: () => void = () => undefined;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    @Inject(DISPATCHERS) dispatchers: AnyDispatcher[],
    private readonly signals: Signals,
    current: CurrentWorker = new CurrentWorker(),
    private readonly permit: WorkPermit = new WorkPermit(),
  ) {
    current.readFrom(() => this.#identity.id);
    this.#enabled = config.roles.includes('worker');
    this.#shutdownMs = config.shutdownMs;
    this.#guard = new InstanceGuard(config);
    this.#sql = new SqlPool({
      url: config.database.url,
      max: Math.max(4, Math.ceil(config.database.poolSize / 2)),
      statementTimeoutMs: STATEMENT_MS,
      applicationName: 'carillon-engine',
      // Planning the claim takes as long as running it.
      steadyPlans: true,
    });
    this.#pulse = new SqlPool({
      url: config.database.url,
      max: 1,
      statementTimeoutMs: STATEMENT_MS,
      applicationName: 'carillon-pulse',
    });
    const tables = dispatchers.map(({ table }) => table);
    this.#beat = beatStatement(tables);
    this.#sweep = sweepStatement(tables);
    this.#rescue = rescueStatement(tables);
    this.#runners = new Map(
      dispatchers.map((dispatcher) => [
        dispatcher.table.queue,
        new QueueRunner(this.#sql, this.#identity, dispatcher),
      ]),
    );
  }

  /** Whether it has ticked within the last 10 s; true where it is not meant to run. */
  get healthy(): boolean {
    return !this.#enabled || monotonicMs() - this.#lastTick < 10_000;
  }

  /** Null while it may work on the database; else why not. */
  get instanceProblem(): string | null {
    return this.#guard.problem;
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.#enabled) return;
    await this.#enter();
    this.#started = true;
    for (const runner of this.#runners.values()) runner.start();
    this.#unsubscribe = this.signals.listen((signal) => {
      if (signal.kind === 'due') this.wakeQueue(signal.queue, signal.inMs);
    });
    await this.tick();
  }

  /** There may be work in this queue. @param inMs milliseconds until it is due */
  wakeQueue(queue: QueueName, inMs = 0): void {
    const runner = this.#runners.get(queue);
    if (inMs > 0) runner?.wakeIn(inMs);
    else runner?.wake();
  }

  /**
   * Heartbeat, next due times, and in the background the sweep: once a second. May be lost, late or run twice without harm.
   */
  tick(): Promise<void> {
    if (!this.#started) return Promise.resolve();
    this.#ticking ??= this.#tick()
      .catch((error: unknown) => this.#log.warn(`tick failed: ${String(error)}`))
      .finally(() => (this.#ticking = null));
    return this.#ticking;
  }

  async #tick(): Promise<void> {
    for (const runner of this.#runners.values()) runner.tend();
    if (this.#identity.id === 0) await this.#enter();
    if (this.#identity.id > 0) await this.#pulsate();
    this.#lastTick = monotonicMs();
    const stale = this.#stale && this.#identity.mayJudge();
    if (this.#identity.id === 0 || (!stale && !this.#adrift)) return;
    this.#tidying ??= this.#tidy(stale)
      .catch((error: unknown) => this.#log.warn(`sweep failed: ${String(error)}`))
      .finally(() => (this.#tidying = null));
  }

  /** Registers, unless something speaks against working on this database: then each tick asks again. */
  async #enter(): Promise<void> {
    if (!this.permit.granted) return;
    if (!(await this.#guard.admits(this.#pulse))) return;
    await this.#identity.register(this.#pulse, (id) => this.#guard.registered(this.#pulse, id));
  }

  async #pulsate(): Promise<void> {
    const sentAt = moment();
    const [beat] = await this.#pulse.query<Beat>(this.#beat, [this.#identity.id]);
    if (!beat?.alive) {
      this.#log.warn('this process was given up: what it held is void');
      this.#withdraw();
      return this.#enter();
    }
    if (!(await this.#guard.accepts(this.#pulse, beat))) return this.#withdraw();
    this.#identity.noteBeat(sentAt);
    this.#stale = beat.stale;
    this.#adrift = beat.adrift;
    if (beat.backend !== this.#heldOn && (await this.#identity.hold(this.#pulse)))
      this.#heldOn = beat.backend;
    for (const [queue, runner] of this.#runners) {
      const dueInMs = beat[queue];
      if (typeof dueInMs === 'number' && dueInMs < LOOK_AHEAD_MS) runner.wakeIn(dueInMs);
    }
  }

  /** What is in hand is void, and nothing is claimed until the next registration. */
  #withdraw(): void {
    this.#identity.forget();
    for (const runner of this.#runners.values()) runner.abandon();
  }

  /** Gives back what dead workers held, and what those whose connection is gone had not begun. */
  async #tidy(stale: boolean): Promise<void> {
    if (this.#adrift && this.#rescue !== null) await this.#rescueFrom(this.#rescue);
    if (!stale) return;
    const [swept] = await this.#sql.query<{ dead: number; rows: number }>(this.#sweep);
    const { dead = 0, rows = 0 } = swept ?? {};
    if (dead + rows > 0)
      this.#log.warn(`${dead} workers were silent for too long: ${rows} rows given back`);
  }

  async #rescueFrom(statement: string): Promise<void> {
    const found = await this.#sql.query<{ queue: QueueName; rows: number }>(statement, [
      this.#identity.id,
    ]);
    for (const { queue, rows } of found) {
      if (rows === 0) continue;
      this.#log.warn(
        `the connection of another worker is gone: ${rows} rows of ${queue} given back`,
      );
      this.wakeQueue(queue);
    }
  }

  async onModuleDestroy(): Promise<void> {
    this.#unsubscribe();
    if (!this.#started) return;
    // The heartbeat goes on until everything in hand has ended: else others would take it over.
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
    const held = [...this.#runners.values()].reduce((sum, runner) => sum + runner.inFlight, 0);
    // With work still in hand the row stays: the sweep then treats that work as doubtful, as it must.
    if (!this.#enabled || held > 0) return;
    try {
      await this.#identity.leave(this.#pulse);
    } catch (error) {
      this.#log.warn(`could not sign off; others will notice: ${String(error)}`);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.#sql.close(), this.#pulse.close()]);
  }
}
