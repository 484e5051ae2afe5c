import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type pg from 'pg';
import { monotonicMs } from '../base/time/clock.ts';
import { greet } from '../database/connections.ts';
import { QUEUES, type QueueName, type Signal, Signals } from './signals.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { connectionTo } from '../database/database-hosts.ts';
import { backoff } from './queue/backoff.ts';
import { CurrentWorker } from './workers/current-worker.ts';
import { DUE_CHANNEL, NOTIFY_DUE, queuesFor } from './due-notification.ts';

const CHANGES = 'carillon_changes';
/**
 * A notification holds at most 8000 bytes. With more ids than this, readers are asked to check all
 * logs.
 */
const MOST_ACCOUNTS = 200;
const ALL = '*';
/**
 * Before the id of an application whose events were published. The release before takes it for the
 * id of an unknown account, and ignores it.
 */
const APPLICATION = '@';
const DEBOUNCE_MS = 10;
/** Minimum time between two notifications that a queue has too much work for this process. */
const OVERFLOW_EVERY_MS = 500;

const PAUSE_MS = { first: 500, longest: 5_000 };
/** Maximum time that a statement of this connection may take. */
const ANSWER_MS = 5_000;

/**
 * Informs other processes that a queue has work due now, or that change logs of accounts or events
 * of applications have grown, and receives the same from them. It uses one connection per process
 * and sends one notification per 10 ms at most: a NOTIFY inside each writing transaction would
 * serialise the commits.
 *
 * A notification about due work wakes a few workers (ADR 0097). A worker takes the work of its own
 * process itself. If it finds more than it can take, it wakes a few others.
 *
 * While the connection is lost, the engine's tick finds work within a second, and waiting readers
 * find changes by themselves.
 */
@Injectable()
export class Notifier implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #log = new Logger(Notifier.name);
  readonly #pending = new Set<QueueName>();
  /** When an overflow of each queue was last sent, by the monotonic clock. */
  readonly #overflowAt = new Map<QueueName, number>();
  /** Ids of accounts, and of applications with their mark. */
  readonly #changed = new Set<string>();
  readonly #url: string;
  readonly #isWorker: boolean;
  readonly #isReader: boolean;
  readonly #unsubscribe: () => void;
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #reconnect: NodeJS.Timeout | undefined;
  #closed = false;
  #notifiedAt = -Infinity;
  #losses = 0;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly signals: Signals,
    private readonly worker: CurrentWorker,
  ) {
    this.#url = config.database.url;
    this.#isWorker = config.roles.includes('worker');
    // With transaction pooling there is no session to listen in. Waiting readers then find changes
    // of other processes by themselves, within a second.
    this.#isReader = config.roles.includes('api') && !config.database.transactionPooling;
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
    const { Client, connectionString } = connectionTo(this.#url);
    const client = new Client({
      connectionString,
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
      query_timeout: ANSWER_MS,
      application_name: 'carillon-notifier',
    });
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client));
    client.on('notification', (notification) => this.#receive(client, notification));
    try {
      await client.connect();
      await greet(client, ANSWER_MS);
      if (this.#isWorker) await client.query(`listen ${DUE_CHANNEL}`);
      if (this.#isReader) await client.query(`listen ${CHANGES}`);
      if (this.#closed) {
        await client.end();
        return;
      }
      this.#client = client;
      this.#losses = 0;
      // Notifications sent while we were disconnected are lost, so every listener checks now.
      for (const queue of QUEUES) this.#forward(queue);
      this.#forwardChanges('all');
    } catch (error) {
      client.end().catch(() => undefined);
      this.#lost(client, error);
    }
  }

  #lost(client: pg.Client, error?: unknown): void {
    if (this.#client === client) this.#client = null;
    if (this.#closed || this.#reconnect) return;
    if (error)
      this.#log.warn(
        `lost the connection for notifications, reconnecting: ${error instanceof Error ? error.message : String(error)}`,
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
    if (signal.kind === 'overflow') {
      if (!this.#isOverflowNews(signal.queue)) return;
      this.#pending.add(signal.queue);
    } else if (signal.elsewhere) return;
    else if (signal.kind === 'changed')
      for (const accountId of signal.accounts === 'all' ? [ALL] : signal.accounts)
        this.#changed.add(accountId);
    else if (signal.kind === 'published')
      for (const id of signal.applications === 'all' ? [ALL] : signal.applications)
        this.#changed.add(id === ALL ? ALL : `${APPLICATION}${id}`);
    // The engine of this process claims the row, or sets a timer for it.
    else if (this.worker.claims) return;
    else this.#pending.add(signal.queue);
    this.#notifySoon();
  }

  #isOverflowNews(queue: QueueName): boolean {
    const now = monotonicMs();
    if (now - (this.#overflowAt.get(queue) ?? -Infinity) < OVERFLOW_EVERY_MS) return false;
    this.#overflowAt.set(queue, now);
    return true;
  }

  #notifySoon(): void {
    // The first notification after a pause is sent at once.
    const waitMs = Math.max(0, this.#notifiedAt + DEBOUNCE_MS - monotonicMs());
    this.#timer ??= setTimeout(() => void this.#notify(), waitMs);
  }

  /**
   * Sends one notification at a time, so that statements do not pile up on a connection that hangs.
   */
  async #notify(): Promise<void> {
    const client = this.#client;
    this.#notifiedAt = monotonicMs();
    const queues = [...this.#pending].join(',');
    const all = this.#changed.size > MOST_ACCOUNTS || this.#changed.has(ALL);
    const changed = all ? ALL : [...this.#changed].join(',');
    this.#pending.clear();
    this.#changed.clear();
    try {
      if (queues) await client?.query(NOTIFY_DUE, [queues, this.worker.id]);
      if (changed) await client?.query('select pg_notify($1, $2)', [CHANGES, changed]);
    } catch (error) {
      // A connection that does not respond will not deliver notifications either, so it is
      // replaced.
      client?.end().catch(() => undefined);
      if (client) this.#lost(client, error);
    } finally {
      this.#timer = undefined;
    }
    if (this.#pending.size + this.#changed.size > 0 && !this.#closed) this.#notifySoon();
  }

  /**
   * Ignores our own notifications. It compares the backend's process id: in containers all Node
   * processes may have the same one.
   */
  #receive(client: pg.Client, { channel, processId, payload = '' }: pg.Notification): void {
    if (processId === (client as unknown as { processID: number }).processID) return;
    if (channel === CHANGES) {
      this.#forwardChanges(payload === ALL ? 'all' : payload.split(','));
      return;
    }
    for (const queue of queuesFor(this.worker.id, payload)) this.#forward(queue);
  }

  #forwardChanges(ids: readonly string[] | 'all'): void {
    const accounts = ids === 'all' ? ids : ids.filter((id) => !id.startsWith(APPLICATION));
    const applications =
      ids === 'all' ? ids : ids.flatMap((id) => (id.startsWith(APPLICATION) ? id.slice(1) : []));
    if (accounts.length > 0) this.signals.send({ kind: 'changed', accounts, elsewhere: true });
    if (applications.length > 0)
      this.signals.send({ kind: 'published', applications, elsewhere: true });
  }

  /** Forwards a notification to the listeners in this process. */
  #forward(queue: QueueName): void {
    this.signals.send({ kind: 'due', queue, inMs: 0, elsewhere: true });
  }
}
