import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/base/time/clock.ts';
import { MetricsDatabase } from '../../platform/metrics/metrics-database.ts';
import { OperatorApiUse } from '../api-use/operator-api-use.ts';
import { OperatorCapacity } from '../capacity/operator-capacity.ts';
import { type HourOf, type Overview, OVERVIEW_SECONDS } from './overview.ts';
import {
  databaseNow,
  deliveryFigures,
  type FiguresRow,
  invalidAccounts,
  lastFailover,
  lostWorkerStates,
  messagesApart,
  queueStates,
  refusalStates,
  sendingFigures,
  syncStates,
  webhookStates,
  workerStates,
} from './overview.repository.ts';

const MINUTE_MS = 60_000;
/** Several operators who look at the same page cause one set of statements in this time. */
const KEEP_MS = 5_000;
/** For numbers that change slowly: sums over all files, or over the days of a month. */
const KEEP_SLOW_MS = 60_000;
/** How long operators are told of a failover. */
const FAILOVER_SHOWN_MS = 86_400_000;

const NO_SENDS = {
  sent: 0, retried: 0, failed: 0, unknown: 0, lateP50Seconds: null, lateP99Seconds: null,
}; // prettier-ignore
const NO_DELIVERIES = {
  delivered: 0, retried: 0, dropped: 0, tookP50Seconds: null, tookP99Seconds: null,
}; // prettier-ignore

type SlowNumbers = Pick<Overview, 'disk' | 'apiUse'>;

/** What an operator sees first: numbers of the whole installation, over all processes. */
@Injectable()
export class OverviewService {
  #kept: { overview: Promise<Overview>; readMs: number } | null = null;

  #slow: { slow: SlowNumbers; readMs: number } | null = null;

  constructor(
    private readonly database: MetricsDatabase,
    private readonly capacity: OperatorCapacity,
    private readonly use: OperatorApiUse,
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

  async #read(): Promise<Overview> {
    const sql = this.database;
    const at = await databaseNow(sql);
    const [
      queues,
      sends,
      deliveries,
      webhooks,
      sync,
      apart,
      invalid,
      refused,
      last,
      workers,
      lost,
      slow,
    ] = await Promise.all([
      queueStates(sql),
      sendingFigures(sql, at),
      deliveryFigures(sql, at),
      webhookStates(sql),
      syncStates(sql),
      messagesApart(sql),
      invalidAccounts(sql),
      refusalStates(sql),
      lastFailover(sql),
      workerStates(sql),
      lostWorkerStates(sql),
      this.#readSlow(),
    ]);
    const isRecent = last && at.getTime() - last.atSeconds * 1000 < FAILOVER_SHOWN_MS;
    return {
      at,
      queues,
      sending: hourOf(at, sends, NO_SENDS),
      deliveries: hourOf(at, deliveries, NO_DELIVERIES),
      webhooks,
      sync,
      heldMessages: apart.held,
      quarantinedMessages: apart.quarantined,
      invalidAccounts: invalid,
      refusals: refused,
      ...slow,
      failover: isRecent ? last.failover : null,
      workers,
      lostWorkers: lost,
    };
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
