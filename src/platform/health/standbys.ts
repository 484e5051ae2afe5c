import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { monotonicMs } from '../base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { MetricSources } from '../metrics/metric-sources.ts';
import { MetricsDatabase } from '../metrics/metrics-database.ts';
import {
  databaseCommitWait,
  databaseStandbyLag,
  databaseStandbys,
  databaseSynchronous,
} from '../metrics/database-metrics.ts';
import { Readiness } from '../work/readiness.ts';
import { readStandbys, type StandbyState } from './standby-state.ts';

/** How long a state counts. */
const FRESH_MS = 1_000;
/** Commits that take longer wait for a standby that does not answer. */
const LONGEST_WAIT_SECONDS = 3;

/**
 * Why no change can be stored, judged by the standbys; `null` if changes can be stored. The text
 * names no host.
 * @param required whether changes are accepted only while commits wait for a standby
 */
export function standbyProblem(state: StandbyState, required: boolean): string | null {
  if (!state.synchronous)
    return required ? 'DATABASE_SYNCHRONOUS is required, but commits wait for no standby' : null;
  if (state.missing) return 'commits wait for a synchronous standby that is not connected';
  return state.commitWaitSeconds > LONGEST_WAIT_SECONDS
    ? `commits have been waiting for a synchronous standby for more than ${LONGEST_WAIT_SECONDS} s`
    : null;
}

/**
 * Watches whether commits end, and what standbys lack: a readiness check, metrics, and the reason
 * to refuse changes (docs/adr/0128). The state is read when somebody asks, once a second at most.
 */
@Injectable()
export class Standbys implements OnModuleInit {
  readonly #required: boolean;
  #known: StandbyState | null = null;
  #knownMs = -Infinity;
  #reading: Promise<StandbyState> | null = null;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly database: MetricsDatabase,
    private readonly readiness: Readiness,
    private readonly sources: MetricSources,
  ) {
    this.#required = config.database.synchronousRequired;
  }

  onModuleInit(): void {
    this.readiness.register('standby', async () =>
      standbyProblem(await this.#state(), this.#required),
    );
    this.sources.add({
      name: 'standbys',
      seconds: 0,
      metrics: [databaseSynchronous, databaseStandbys, databaseCommitWait, databaseStandbyLag],
      read: async () => {
        const state = await this.#state();
        return () => show(state);
      },
    });
  }

  /**
   * Returns why no change can be stored, or `null`. Waits for the database only if its commits wait
   * for a standby, or if that is required. `null` also if the state cannot be read: the change then
   * fails by itself.
   */
  async problem(): Promise<string | null> {
    const reading = this.#state().catch(() => null);
    if (!this.#required && this.#known?.synchronous !== true) return null;
    const state = await reading;
    return state && standbyProblem(state, this.#required);
  }

  async #state(): Promise<StandbyState> {
    if (this.#known && monotonicMs() - this.#knownMs < FRESH_MS) return this.#known;
    this.#reading ??= this.#read().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #read(): Promise<StandbyState> {
    this.#known = await readStandbys(this.database);
    this.#knownMs = monotonicMs();
    return this.#known;
  }
}

function show({ synchronous, standbys, commitWaitSeconds, lags }: StandbyState): void {
  databaseSynchronous.set(synchronous ? 1 : 0);
  databaseStandbys.set(standbys);
  databaseCommitWait.set(commitWaitSeconds);
  for (const { name, bytes } of lags) databaseStandbyLag.set({ standby: name }, bytes);
}
