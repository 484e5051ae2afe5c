import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import pg from 'pg';
import { monotonicMs } from '../base/time/clock.ts';
import { QUEUES, type QueueName, type Signal, Signals } from './signals.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { backoff } from './backoff.ts';

const CHANNEL = 'carillon_due';
const CHANGES = 'carillon_changes';
/** A notification holds 8000 bytes: of more accounts at once everybody looks at everything. */
const MOST_ACCOUNTS = 200;
const ALL = '*';
const DEBOUNCE_MS = 10;
const PAUSE_MS = { first: 500, longest: 5_000 };

/**
 * Tells other processes that a queue has work due now, or that logs of accounts have grown, and hears it from them. One connection per process and one
 * notification per 10 ms at most: a NOTIFY inside each writing transaction would serialise their commits. When the
 * connection is away, work is found by the engine's tick within a second, and changes by whoever waits for them.
 */
@Injectable()
export class Notifier implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #log = new Logger(Notifier.name);
  readonly #pending = new Set<QueueName>();
  readonly #changed = new Set<string>();
  readonly #url: string;
  readonly #works: boolean;
  readonly #answers: boolean;
  readonly #unsubscribe: () => void;
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #reconnect: NodeJS.Timeout | undefined;
  #closed = false;
  #toldAt = -Infinity;
  #losses = 0;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly signals: Signals,
  ) {
    this.#url = config.database.url;
    this.#works = config.roles.includes('worker');
    this.#answers = config.roles.includes('api');
    this.#unsubscribe = signals.listen((signal) => this.#note(signal));
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
      if (this.#works) await client.query(`listen ${CHANNEL}`);
      if (this.#answers) await client.query(`listen ${CHANGES}`);
      if (this.#closed) {
        await client.end();
        return;
      }
      this.#client = client;
      this.#losses = 0;
      // Whatever was said while we were away is found now.
      for (const queue of QUEUES) this.#pass(queue);
      this.signals.send({ kind: 'changed', accounts: 'all', elsewhere: true });
    } catch (error) {
      this.#lost(client, error);
    }
  }

  #lost(client: pg.Client, error?: unknown): void {
    if (this.#client === client) this.#client = null;
    if (this.#closed || this.#reconnect) return;
    if (error)
      this.#log.warn(
        `notifications are away: ${error instanceof Error ? error.message : String(error)}`,
      );
    this.#losses += 1;
    this.#reconnect = setTimeout(
      () => {
        this.#reconnect = undefined;
        void this.#connect();
      },
      backoff(PAUSE_MS, this.#losses),
    );
  }

  #note(signal: Signal): void {
    if (signal.elsewhere) return;
    if (signal.kind === 'changed')
      for (const accountId of signal.accounts === 'all' ? [ALL] : signal.accounts)
        this.#changed.add(accountId);
    // What is due in a moment is the work of this process's own engine, where there is one.
    else if (signal.inMs === 0 || !this.#works) this.#pending.add(signal.queue);
    else return;
    this.#tellSoon();
  }

  #tellSoon(): void {
    // The first after a quiet time is not kept waiting.
    const waitMs = Math.max(0, this.#toldAt + DEBOUNCE_MS - monotonicMs());
    this.#timer ??= setTimeout(() => void this.#tell(), waitMs);
  }

  /** One at a time: a connection that hangs must not gather what is to be said. */
  async #tell(): Promise<void> {
    const client = this.#client;
    this.#toldAt = monotonicMs();
    const queues = [...this.#pending].join(',');
    const all = this.#changed.size > MOST_ACCOUNTS || this.#changed.has(ALL);
    const changed = all ? ALL : [...this.#changed].join(',');
    this.#pending.clear();
    this.#changed.clear();
    try {
      if (queues) await client?.query('select pg_notify($1, $2)', [CHANNEL, queues]);
      if (changed) await client?.query('select pg_notify($1, $2)', [CHANGES, changed]);
    } catch (error) {
      // An answer that does not come says that nothing will be heard either.
      client?.end().catch(() => undefined);
      if (client) this.#lost(client, error);
    } finally {
      this.#timer = undefined;
    }
    if (this.#pending.size + this.#changed.size > 0 && !this.#closed) this.#tellSoon();
  }

  /** Process ids are no names: in containers every process has the same. */
  #hear(client: pg.Client, { channel, processId, payload = '' }: pg.Notification): void {
    if (processId === (client as unknown as { processID: number }).processID) return;
    if (channel === CHANGES) {
      const accounts = payload === ALL ? 'all' : payload.split(',');
      this.signals.send({ kind: 'changed', accounts, elsewhere: true });
      return;
    }
    for (const queue of payload.split(',')) this.#pass(queue as QueueName);
  }

  /** What another process has said, to those of this one. */
  #pass(queue: QueueName): void {
    this.signals.send({ kind: 'due', queue, inMs: 0, elsewhere: true });
  }
}
