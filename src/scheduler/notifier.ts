import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import pg from 'pg';
import { monotonicMs } from '../common/time/clock.ts';
import { QUEUES, type QueueName, Wake } from '../common/wake.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { Engine } from './engine.ts';

const CHANNEL = 'carillon_due';
const DEBOUNCE_MS = 10;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Tells other processes that a queue has work due now, and hears it from them. One connection per process and one
 * notification per 10 ms at most: a NOTIFY inside each writing transaction would serialise their commits. When the
 * connection is away, work is found by the engine's tick within a second.
 */
@Injectable()
export class Notifier implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #log = new Logger(Notifier.name);
  readonly #pending = new Set<QueueName>();
  readonly #url: string;
  readonly #listens: boolean;
  readonly #unsubscribe: () => void;
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #reconnect: NodeJS.Timeout | undefined;
  #closed = false;
  #toldAt = -Infinity;
  #pauseMs = 500;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly engine: Engine,
    wake: Wake,
  ) {
    this.#url = config.database.url;
    this.#listens = config.roles.includes('worker');
    this.#unsubscribe = wake.onWake((queue) => this.#note(queue));
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.#connect();
  }

  async onApplicationShutdown(): Promise<void> {
    this.#closed = true;
    this.#unsubscribe();
    clearTimeout(this.#timer);
    clearTimeout(this.#reconnect);
    await this.#client?.end();
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
      query_timeout: 5_000,
      application_name: 'carillon-notifier',
    });
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client));
    client.on('notification', (notification) => this.#hear(client, notification));
    try {
      await client.connect();
      if (this.#listens) await client.query(`listen ${CHANNEL}`);
      if (this.#closed) {
        await client.end();
        return;
      }
      this.#client = client;
      this.#pauseMs = 500;
      // Whatever was said while we were away is found now.
      for (const queue of QUEUES) this.engine.wakeQueue(queue);
    } catch (error) {
      this.#lost(client, error);
    }
  }

  #lost(client: pg.Client, error?: unknown): void {
    if (this.#client === client) this.#client = null;
    if (this.#closed || this.#reconnect) return;
    if (error)
      this.#log.warn(`notifications are away: ${error instanceof Error ? error.message : String(error)}`);
    this.#reconnect = setTimeout(() => {
      this.#reconnect = undefined;
      void this.#connect();
    }, this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }

  #note(queue: QueueName): void {
    this.#pending.add(queue);
    // The first after a quiet time is not kept waiting.
    const waitMs = Math.max(0, this.#toldAt + DEBOUNCE_MS - monotonicMs());
    this.#timer ??= setTimeout(() => void this.#tell(), waitMs);
  }

  /** One at a time: a connection that hangs must not gather what is to be said. */
  async #tell(): Promise<void> {
    const client = this.#client;
    this.#toldAt = monotonicMs();
    const queues = [...this.#pending].join(',');
    this.#pending.clear();
    try {
      await client?.query('select pg_notify($1, $2)', [CHANNEL, queues]);
    } catch (error) {
      // An answer that does not come says that nothing will be heard either.
      client?.end().catch(() => undefined);
      if (client) this.#lost(client, error);
    } finally {
      this.#timer = undefined;
    }
    const [next] = this.#pending;
    if (next && !this.#closed) this.#note(next);
  }

  /** Process ids are no names: in containers every process has the same. */
  #hear(client: pg.Client, { processId, payload = '' }: pg.Notification): void {
    if (processId === (client as unknown as { processID: number }).processID) return;
    for (const queue of payload.split(',')) this.engine.wakeQueue(queue as QueueName);
  }
}
