import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.ts';
import { greet } from '../connections.ts';
import { connectionTo } from '../database-hosts.ts';
import { TOO_MANY_CONNECTIONS } from './database-trouble.ts';
import { timelines } from './timelines.ts';

const LIMIT_MS = 2_000;
/** Between two looks while the server has a standby, which could be promoted at any time. */
const REPLICATED_MS = 1_000;
/**
 * Between two looks otherwise: the standby may not have been connected when this process last
 * opened a connection. Well below a minute, because a worker that finds more than that missing on a
 * promoted server takes it for a restored backup.
 */
const ALONE_MS = 20_000;

/**
 * Opens a connection, compares the timeline of its server, and closes it. If the address leads to
 * another server by now, all connections to the older one are closed.
 * @throws {OldTimelineError} if the address leads to a server that was replaced, or the driver's
 *   error if it leads to none
 */
async function lookAtTimeline(url: string): Promise<void> {
  const { Client, connectionString } = connectionTo(url);
  const client = new Client({
    connectionString,
    connectionTimeoutMillis: LIMIT_MS,
    application_name: 'carillon-timeline',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await greet(client, LIMIT_MS);
  } finally {
    client.end().catch(() => undefined);
  }
}

/**
 * Looks where the address leads, before the first heartbeat after a silence: it may lead to a
 * server that was promoted, while the connection of the heartbeat still leads to the old one. Does
 * nothing if there was no standby, or if the server has no connection left for the look: a worker
 * with a connection need not count as dead.
 * @throws as `lookAtTimeline`
 */
export async function lookAfterSilence(url: string): Promise<void> {
  if (!timelines.replicated) return;
  try {
    await lookAtTimeline(url);
  } catch (error) {
    if ((error as { code?: unknown }).code !== TOO_MANY_CONNECTIONS) throw error;
  }
}

/**
 * Looks where the address of the database leads, each second if the server has a standby. An
 * address can move without an end of the old connections, and a busy pool opens no new ones.
 */
@Injectable()
export class TimelineWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #url: string;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(@Inject(APP_CONFIG) config: AppConfig) {
    this.#url = config.database.url;
  }

  onApplicationBootstrap(): void {
    this.#lookLater();
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#looking;
    clearTimeout(this.#timer);
  }

  #lookLater(): void {
    // A random part spreads the looks of processes that started together.
    const everyMs = timelines.replicated ? REPLICATED_MS : ALONE_MS * (0.5 + Math.random() / 2);
    this.#timer = setTimeout(() => {
      this.#looking = this.#look();
    }, everyMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    try {
      if (timelines.readable) await lookAtTimeline(this.#url);
    } catch {
      // The pools meet the same error and report it.
    }
    this.#lookLater();
  }
}
