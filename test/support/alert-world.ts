import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import pg from 'pg';
import { createApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { MetricSources } from '../../src/platform/metrics/metric-sources.ts';
import { ProcessMetrics } from '../../src/platform/metrics/process-metrics.ts';
import { assertNoSecretLogged, watchedLog, watchEnvironment } from './log-watch.ts';
import { type MetricsPage, parseMetrics, readMetrics } from './metrics-page.ts';
import { PassingClock } from './passing-clock.ts';
import {
  FIVE_SECONDS_AHEAD,
  operatorsOf,
  type ServerProcess,
  startServerProcess,
} from './server-process.ts';
import type { TestApp } from './test-app.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';
import { until } from './until.ts';

const newKeys = () => `k:${randomBytes(32).toString('base64')}`;

/**
 * An API process and a worker, both in this process, whose metrics tests read. Counters of both are
 * on the same page.
 */
export class AlertWorld {
  readonly #keys = newKeys();
  readonly clock = new PassingClock();
  readonly #database: TestDatabase;
  #server: TestApp | null = null;
  #worker: NestExpressApplication | null = null;

  private constructor(database: TestDatabase) {
    this.#database = database;
  }

  static async begin(): Promise<AlertWorld> {
    const world = new AlertWorld(await createTestDatabase());
    await world.clock.govern(world.#database);
    await world.startWorker();
    await world.#serve();
    return world;
  }

  get server(): TestApp {
    if (!this.#server) throw new Error('the world has not begun');
    return this.#server;
  }

  async startWorker(): Promise<void> {
    this.#worker = await this.#start({ ROLES: 'worker' });
  }

  /**
   * Started after the worker: Passport has one set of strategies in a process, those of the
   * application that was made last.
   */
  async #serve(): Promise<void> {
    const app = await this.#start({ ROLES: 'api', RATE_LIMIT_CONCURRENT: '5' });
    await app.listen(0, '127.0.0.1');
    const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    this.#server = {
      app,
      url,
      operatorUrl: url,
      database: this.#database,
      close: () => app.close(),
    };
  }

  /** Stops the worker in order, as for an update. */
  async stopWorker(): Promise<void> {
    await this.#worker?.close();
    this.#worker = null;
  }

  /** Starts the built program as a worker in a process of its own. */
  async startWorkerProcess(): Promise<{ process: ServerProcess; operators: string }> {
    const process = await startServerProcess({
      ...this.#environment(),
      LOG_LEVEL: 'info',
      ROLES: 'worker',
      OPERATOR_PORT: '0',
    });
    return { process, operators: operatorsOf(process) };
  }

  /**
   * The page of an API process that has other encryption keys than the installation. Afterwards the
   * server accepts no access tokens (`#serve`).
   */
  async pageWithWrongKeys(): Promise<MetricsPage> {
    const app = await this.#start({ ROLES: 'api', ENCRYPTION_KEYS: newKeys() });
    const page = parseMetrics(await app.get(ProcessMetrics).page());
    await app.close();
    return page;
  }

  /** The page of a worker process whose clock is five seconds ahead. */
  async pageWithWrongClock(): Promise<MetricsPage> {
    const worker = await startServerProcess(
      { ...this.#environment(), ROLES: 'worker', OPERATOR_PORT: '0' },
      { nodeArguments: ['--import', FIVE_SECONDS_AHEAD] },
    );
    const page = await until('the worker has compared the clocks', async () => {
      const read = await readMetrics({ url: operatorsOf(worker) });
      return read.get('carillon_clock_ahead_seconds') ? read : undefined;
    });
    await worker.stop();
    return page;
  }

  /** The present metrics, without any that were read earlier. */
  async page(): Promise<MetricsPage> {
    this.server.app.get(MetricSources).expire();
    return new Map([...(await readMetrics(this.server)), ['up', 1]]);
  }

  /** A client of the database besides the processes. */
  async client(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#database.url });
    await client.connect();
    return client;
  }

  async end(): Promise<void> {
    await this.stopWorker();
    await this.server.close();
    await this.#database.drop();
    assertNoSecretLogged();
  }

  async #start(environment: Record<string, string>): Promise<NestExpressApplication> {
    const settings = { ...this.#environment(), ...environment };
    watchEnvironment(settings);
    const app = await createApp(loadConfig(settings), { logTo: watchedLog, clock: this.clock });
    await app.init();
    return app;
  }

  #environment() {
    return {
      NODE_ENV: 'test',
      LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'debug',
      RATE_LIMIT_APPLICATION: '0',
      RATE_LIMIT_ACCOUNT: '0',
      RATE_LIMIT_CONCURRENT: '0',
      DATABASE_URL: this.#database.url,
      ENCRYPTION_KEYS: this.#keys,
      EGRESS_ALLOW: '127.0.0.0/8,::1',
      SMS_GATEWAY: 'recording',
    };
  }
}

/**
 * Whether a process answers a scrape.
 * @returns the series `up` that Prometheus would record
 */
export async function scrape(operators: string): Promise<MetricsPage> {
  try {
    const response = await fetch(`${operators}/metrics`, { signal: AbortSignal.timeout(1_000) });
    return new Map([['up', response.ok ? 1 : 0]]);
  } catch {
    return new Map([['up', 0]]);
  }
}
