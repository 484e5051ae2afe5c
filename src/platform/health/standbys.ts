import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { monotonicMs } from '../base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { commitWaits } from '../database/commit-waits.ts';
import { MetricSources } from '../metrics/metric-sources.ts';
import { MetricsDatabase } from '../metrics/metrics-database.ts';
import {
  databaseCommitWait,
  databaseStandbyLag,
  databaseStandbys,
  databaseSynchronous,
  databaseSynchronousExpected,
} from '../metrics/database-metrics.ts';
import { Readiness } from '../work/readiness.ts';
import { CommitClock } from './commit-clock.ts';
import { readStandbys, type StandbyState } from './standby-state.ts';

/** How long a state counts, and the time between two readings while commits wait for a standby. */
const FRESH_MS = 1_000;
/** Commits that take longer wait for a standby that does not answer. */
const LONGEST_WAIT_SECONDS = 3;

/** A state, and how long each of its commits has been waiting. */
interface Reading {
  state: StandbyState;
  /** Seconds of each session of `state.waiting`. */
  waits: readonly number[];
}

const longestOf = ({ waits }: Reading): number => Math.max(0, ...waits);

/** Why no commit ends, or `null`. The text names no host. */
function commitProblem(reading: Reading): string | null {
  if (!reading.state.synchronous) return null;
  if (reading.state.missing) return 'commits wait for a synchronous standby that is not connected';
  return longestOf(reading) > LONGEST_WAIT_SECONDS
    ? `commits have been waiting for a synchronous standby for more than ${LONGEST_WAIT_SECONDS} s`
    : null;
}

/**
 * Watches whether commits end, and what standbys lack: a readiness check, metrics, and the reason
 * to refuse changes (docs/adr/0128). The state is read when somebody asks, once a second at most.
 * While commits wait for a standby, it is read each second, so that nothing is written in vain
 * (docs/adr/0135).
 */
@Injectable()
export class Standbys implements OnModuleInit, OnApplicationShutdown {
  readonly #required: boolean;
  readonly #clock = new CommitClock();
  #known: Reading | null = null;
  #knownMs = -Infinity;
  /** Since when no commit ends, on the clock of `monotonicMs`; `null` if commits end. */
  #stuckSinceMs: number | null = null;
  #reading: Promise<Reading> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly database: MetricsDatabase,
    private readonly readiness: Readiness,
    private readonly sources: MetricSources,
  ) {
    const { synchronous } = config.database;
    this.#required = synchronous === 'required';
    databaseSynchronousExpected.set(synchronous === 'optional' ? 0 : 1);
  }

  async onModuleInit(): Promise<void> {
    this.readiness.register('standby', async () => this.#problemOf(await this.#read()));
    this.sources.add({
      name: 'standbys',
      seconds: 0,
      metrics: [databaseSynchronous, databaseStandbys, databaseCommitWait, databaseStandbyLag],
      read: async () => {
        const reading = await this.#read();
        return () => show(reading, this.#stuckSeconds());
      },
    });
    // A process that starts while no commit ends must know it before it writes.
    await this.#read().catch(() => undefined);
  }

  onApplicationShutdown(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /**
   * Returns why no change can be stored, or `null`. Waits for the database only if its commits wait
   * for a standby, or if that is required. `null` also if the state cannot be read: the change then
   * fails by itself.
   */
  async problem(): Promise<string | null> {
    const reading = this.#read().catch(() => null);
    if (!this.#required && this.#known?.state.synchronous !== true) return null;
    const known = await reading;
    return known && this.#problemOf(known);
  }

  /** No commit may be waiting although none would end, because none is begun (ADR 0135). */
  #stuckSeconds(): number {
    return this.#stuckSinceMs === null ? 0 : (monotonicMs() - this.#stuckSinceMs) / 1000;
  }

  #problemOf(reading: Reading): string | null {
    return this.#required && !reading.state.synchronous
      ? 'DATABASE_SYNCHRONOUS is required, but commits wait for no standby'
      : commitProblem(reading);
  }

  async #read(): Promise<Reading> {
    if (this.#known && monotonicMs() - this.#knownMs < FRESH_MS) return this.#known;
    return this.#readOnce();
  }

  /** Reads the state, unless it is being read. */
  #readOnce(): Promise<Reading> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = null;
      this.#readLater();
    });
    return this.#reading;
  }

  async #readNow(): Promise<Reading> {
    const state = await readStandbys(this.database);
    this.#knownMs = monotonicMs();
    const waits = this.#clock.measure(state.waiting, this.#knownMs);
    this.#known = { state, waits };
    const late = state.waiting.filter((_, index) => (waits[index] ?? 0) > LONGEST_WAIT_SECONDS);
    const isStuck = commitProblem(this.#known) !== null;
    this.#stuckSinceMs = isStuck ? (this.#stuckSinceMs ?? this.#knownMs) : null;
    commitWaits.note(
      isStuck,
      late.map(({ session }) => session),
    );
    return this.#known;
  }

  #readLater(): void {
    clearTimeout(this.#timer);
    if (this.#stopped || this.#known?.state.synchronous !== true) return;
    // The readiness check reports an error.
    this.#timer = setTimeout(() => void this.#readOnce().catch(() => undefined), FRESH_MS);
    this.#timer.unref();
  }
}

function show(reading: Reading, stuckSeconds: number): void {
  const { synchronous, standbys, lags } = reading.state;
  databaseSynchronous.set(synchronous ? 1 : 0);
  databaseStandbys.set(standbys);
  databaseCommitWait.set(Math.max(longestOf(reading), stuckSeconds));
  for (const { name, bytes } of lags) databaseStandbyLag.set({ standby: name }, bytes);
}
