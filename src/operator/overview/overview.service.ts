import { hostname } from 'node:os';
import { Inject, Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { clockAhead } from '../../platform/database/health/database-clock.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { MetricsDatabase } from '../../platform/metrics/metrics-database.ts';
import { Readiness } from '../../platform/work/readiness.ts';
import { fullAccess } from '../access/last-operator.ts';
import { OperatorApiUse } from '../api-use/operator-api-use.ts';
import { OperatorCapacity } from '../capacity/operator-capacity.ts';
import {
  type HourOf,
  type Overview,
  OVERVIEW_SECONDS,
  type ProcessState,
  RECENT_MINUTES,
  type RequestState,
} from './overview.ts';
import { requestStates } from './request-states.ts';
import {
  databaseNow,
  deliveryFigures,
  failingServers,
  type FiguresRow,
  invalidAccounts,
  lastFailover,
  lostWorkerStates,
  messagesApart,
  queueStates,
  refusalStates,
  sendingFigures,
  syncStates,
  troubledProcesses,
  webhookStates,
  workerStates,
} from './overview.repository.ts';

const MINUTE_MS = 60_000;
/** Several operators who look at the same page cause one set of statements in this time. */
const KEEP_MS = 5_000;
/** For numbers that change slowly: sums over all files, or over the days of a month. */
const KEEP_SLOW_MS = 60_000;
/** How long the overview shows a failover. */
const FAILOVER_SHOWN_MS = 86_400_000;

const NO_SENDS = {
  sent: 0,
  retried: 0,
  failed: 0,
  unknown: 0,
  lateP50Seconds: null,
  lateP99Seconds: null,
};
const NO_DELIVERIES = {
  delivered: 0,
  retried: 0,
  dropped: 0,
  tookP50Seconds: null,
  tookP99Seconds: null,
};

type SlowNumbers = Pick<Overview, 'disk' | 'apiUse'>;
type Installation = Pick<
  Overview,
  'workers' | 'lostWorkers' | 'processes' | 'failover' | 'missingAccess'
>;
type States = Installation &
  Pick<
    Overview,
    'queues' | 'webhooks' | 'sync' | 'failingServers' | 'invalidAccounts' | 'refusals'
  >;

/** What an operator sees first: numbers of the whole installation, over all processes. */
@Injectable()
export class OverviewService {
  #kept: { overview: Promise<Overview>; readMs: number } | null = null;

  #slow: { slow: SlowNumbers; readMs: number } | null = null;

  constructor(
    private readonly database: MetricsDatabase,
    private readonly capacity: OperatorCapacity,
    private readonly use: OperatorApiUse,
    private readonly readiness: Readiness,
    @Inject(APP_CONFIG)
    private readonly config: Pick<AppConfig, 'roles' | 'environment' | 'operator'>,
  ) {}

  /**
   * The numbers of the installation, at most five seconds old.
   * @throws the driver's error if the database does not answer within seconds
   */
  read(): Promise<Overview> {
    if (this.#kept && monotonicMs() - this.#kept.readMs < KEEP_MS) return this.#kept.overview;
    const overview = this.#read();
    this.#kept = { overview, readMs: monotonicMs() };
    overview.catch(() => (this.#kept = null));
    return overview;
  }

  /**
   * Requests of applications in the last hour, by how they failed.
   * @throws the driver's error if the database does not answer within seconds
   */
  async failedRequests(): Promise<RequestState> {
    const at = await databaseNow(this.database);
    return requestStates(this.database, at, OVERVIEW_SECONDS / 60);
  }

  /** Makes the next reading a new one. For tests. */
  expire(): void {
    this.#kept = null;
    this.#slow = null;
  }

  async #read(): Promise<Overview> {
    const sql = this.database;
    const at = await databaseNow(sql);
    const [requests, sends, deliveries, apart, states, slow] = await Promise.all([
      requestStates(sql, at, RECENT_MINUTES),
      sendingFigures(sql, at),
      deliveryFigures(sql, at),
      messagesApart(sql),
      this.#states(sql, at),
      this.#readSlow(),
    ]);
    return {
      at,
      requests,
      sending: hourOf(at, sends, NO_SENDS),
      deliveries: hourOf(at, deliveries, NO_DELIVERIES),
      heldMessages: apart.held,
      quarantinedMessages: apart.quarantined,
      ...states,
      ...slow,
    };
  }

  async #states(sql: Sql, at: Date): Promise<States> {
    const [queues, servers, webhooks, sync, invalid, refusals, installation] = await Promise.all([
      queueStates(sql),
      failingServers(sql),
      webhookStates(sql),
      syncStates(sql),
      invalidAccounts(sql),
      refusalStates(sql),
      this.#installation(sql, at),
    ]);
    const counted = { failingServers: servers, invalidAccounts: invalid };
    return { queues, webhooks, sync, ...counted, refusals, ...installation };
  }

  async #installation(sql: Sql, at: Date): Promise<Installation> {
    const [workers, lostWorkers, processes, last, missingAccess] = await Promise.all([
      workerStates(sql),
      lostWorkerStates(sql),
      this.#processes(sql),
      lastFailover(sql),
      this.#missingAccess(sql, at),
    ]);
    const isRecent = last && at.getTime() - last.atSeconds * 1000 < FAILOVER_SHOWN_MS;
    const failover = isRecent ? last.failover : null;
    return { workers, lostWorkers, processes, failover, missingAccess };
  }

  async #missingAccess(sql: Sql, at: Date): Promise<Overview['missingAccess']> {
    const { environment, operator } = this.config;
    const access = await fullAccess(sql, operator.oidc?.issuer ?? null, at);
    if (access === 'own') return null;
    return access === 'link' && environment !== 'production' ? null : access;
  }

  /** Other processes by what they have reported, this one by what it sees now. */
  async #processes(sql: Sql): Promise<ProcessState[]> {
    const [others, problems, clockAheadSeconds] = await Promise.all([
      troubledProcesses(sql),
      this.readiness.failing(),
      clockAhead(sql),
    ]);
    const { roles } = this.config;
    const own = {
      host: hostname(),
      pid: process.pid,
      roles: [...roles],
      problems,
      clockAheadSeconds,
    };
    return [own, ...others];
  }

  async #readSlow(): Promise<SlowNumbers> {
    if (this.#slow && monotonicMs() - this.#slow.readMs < KEEP_SLOW_MS) return this.#slow.slow;
    const [disk, apiUse] = await Promise.all([
      this.capacity.disk(this.database),
      this.use.worrying(this.database),
    ]);
    const slow = { disk, apiUse };
    this.#slow = { slow, readMs: monotonicMs() };
    return slow;
  }
}

/** Puts figures in the order of their minutes, and fills the minutes that have none. */
function hourOf<F extends object>(now: Date, rows: readonly FiguresRow<F>[], none: F): HourOf<F> {
  const known = new Map(rows.map((row) => [row.at?.getTime() ?? null, figuresOf(row)]));
  const current = Math.floor(now.getTime() / MINUTE_MS);
  const minutes = Array.from({ length: OVERVIEW_SECONDS / 60 }, (_, index) => {
    const at = (current - OVERVIEW_SECONDS / 60 + 1 + index) * MINUTE_MS;
    return { at: new Date(at), figures: known.get(at) ?? none };
  });
  const since = rows[0]?.since ?? new Date(now.getTime() - OVERVIEW_SECONDS * 1000);
  return { figures: known.get(null) ?? none, minutes, since };
}

function figuresOf<F extends object>({ at: _at, since: _since, ...figures }: FiguresRow<F>): F {
  return figures as unknown as F;
}
