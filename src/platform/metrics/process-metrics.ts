import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { collectDefaultMetrics } from 'prom-client';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { openPools } from '../database/open-pools.ts';
import { lowestBudgets } from './budget-shares.ts';
import { MetricSources } from './metric-sources.ts';
import {
  databaseBytes,
  databaseConnections,
  databaseConnectionsMax,
  databaseLimit,
  poolConnections,
  poolSize,
  poolWaiting,
  poolWaits,
  processInfo,
} from './database-metrics.ts';
import { registry } from './registry.ts';
import { budgetLeft } from './sync-metrics.ts';

const CONNECTIONS = `
  select
    case when datconnlimit >= 0 then own else all_of_server end as used,
    case when datconnlimit >= 0 then datconnlimit
      else current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int end as most
  from pg_database d, (
    select sum(numbackends)::int as all_of_server, (sum(numbackends) filter (where datname = current_database()))::int as own
    from pg_stat_database) s
  where d.datname = current_database()`;

const SIZE = 'select pg_database_size(current_database()) as bytes';

/** How long values of the whole database server are shown, in seconds. */
const CONNECTIONS_SECONDS = 10;
const SIZE_SECONDS = 300;
const GB = 1024 ** 3;

/** Time between two samples of the event loop's delay, in milliseconds. */
const EVENT_LOOP_MS = 20;

let measured = false;

/**
 * Metrics of this process and of its database server. Those of Node.js itself (`process_…` and
 * `nodejs_…`) are measured from the first request of the page on.
 */
@Injectable()
export class ProcessMetrics implements OnModuleInit {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly sources: MetricSources,
  ) {}

  onModuleInit(): void {
    this.sources.add({
      name: 'connections',
      seconds: CONNECTIONS_SECONDS,
      metrics: [databaseConnections, databaseConnectionsMax],
      read: async (sql) => {
        const [row] = await sql.query<{ used: number; most: number }>(CONNECTIONS);
        if (!row) throw new Error('the database does not list itself');
        return () => {
          databaseConnections.set(row.used);
          databaseConnectionsMax.set(row.most);
        };
      },
    });
    this.sources.add({
      name: 'size',
      seconds: SIZE_SECONDS,
      metrics: [databaseBytes, databaseLimit],
      read: async (sql) => {
        const [row] = await sql.query<{ bytes: number }>(SIZE);
        return () => {
          databaseBytes.set(row?.bytes ?? 0);
          databaseLimit.set((this.config.database.diskGigabytes ?? 0) * GB);
        };
      },
    });
  }

  /** All metrics in the text format of Prometheus. Takes about four seconds at most. */
  async page(): Promise<string> {
    this.#measure();
    await this.sources.refresh();
    showPools();
    showBudgets();
    return registry.metrics();
  }

  /** Starts once: the observers of Node.js cannot be stopped. */
  #measure(): void {
    if (measured) return;
    measured = true;
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_MS });
    processInfo.set({ roles: this.config.roles.join(',') }, 1);
  }
}

function showPools(): void {
  for (const metric of [poolConnections, poolSize, poolWaiting, poolWaits]) metric.reset();
  for (const { name, pool, max, waits } of openPools()) {
    poolConnections.inc({ pool: name, state: 'idle' }, pool.idleCount);
    poolConnections.inc({ pool: name, state: 'used' }, pool.totalCount - pool.idleCount);
    poolSize.inc({ pool: name }, max);
    poolWaiting.inc({ pool: name }, pool.waitingCount);
    poolWaits.inc({ pool: name }, waits);
  }
}

function showBudgets(): void {
  budgetLeft.reset();
  for (const [provider, left] of lowestBudgets()) budgetLeft.set({ provider }, left);
}
