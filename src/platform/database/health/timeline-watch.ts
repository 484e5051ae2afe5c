import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { monotonicMs } from '../../base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.ts';
import { parseDatabaseUrl } from '../../config/database-url.ts';
import { greet } from '../connections.ts';
import { askHostsAgain, connectionTo } from '../database-hosts.ts';
import { OLD_TIMELINE, TOO_MANY_CONNECTIONS } from './database-trouble.ts';
import { timelines } from './timelines.ts';

const LIMIT_MS = 2_000;
/** Between two looks while a standby may be promoted at any time. */
const REPLICATED_MS = 1_000;
/**
 * Between two looks otherwise: a standby may have been connected since this process last opened a
 * connection. Well below a minute, because a worker that finds more than that missing on a promoted
 * server takes it for a restored backup.
 */
const ALONE_MS = 20_000;
/** A standby that was away for longer is not promoted: it lacks too much. */
const REMEMBERED_DAYS = 7;
const HAD_STANDBY = `
  select standby_seen_at > now() - interval '${REMEMBERED_DAYS} days' as replicated from instance where id = 1`;

/**
 * Opens a connection, compares the timeline of its server, and closes it. If the address leads to
 * another server by now, all connections to the older one are closed. Several hosts are asked
 * again. Also reads whether the database had a standby that this process has not seen.
 * @throws {OldTimelineError} if the address leads to a server that was replaced, or the driver's
 *   error if it leads to none
 */
async function lookAtTimeline(url: string): Promise<void> {
  const { Client, connectionString } = connectionTo(url);
  askHostsAgain(url);
  const client = new Client({
    connectionString,
    connectionTimeoutMillis: LIMIT_MS,
    query_timeout: LIMIT_MS,
    application_name: 'carillon-timeline',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await greet(client, LIMIT_MS);
    if (timelines.replicated) return;
    const { rows } = await client.query<{ replicated: boolean | null }>(HAD_STANDBY);
    if (rows[0]?.replicated) timelines.noteStandby();
  } finally {
    client.end().catch(() => undefined);
  }
}

/**
 * Looks where the address leads, before the first heartbeat after a silence: it may lead to a
 * server that was promoted, while the connection of the heartbeat still leads to the old one. Does
 * nothing if there was no standby, or if the server has no connection left for the look: a worker
 * with a connection need not count as dead. Nor does it matter that the address leads to a server
 * that was replaced: a pooler may hand out a connection that it has kept, and the heartbeat's own
 * connection is checked anyway.
 * @throws the driver's error if the address leads to no server
 */
export async function lookAfterSilence(url: string): Promise<void> {
  if (!timelines.replicated) return;
  try {
    await lookAtTimeline(url);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== TOO_MANY_CONNECTIONS && code !== OLD_TIMELINE) throw error;
  }
}

/**
 * Looks where the address of the database leads, each second if the server has a standby. An
 * address can move without an end of the old connections, and a busy pool opens no new ones.
 *
 * A look does not wait for the one before: that one may wait for a server that is frozen, while the
 * address leads to another one by now. So every connection leaves an old server within two seconds.
 */
@Injectable()
export class TimelineWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #url: string;
  readonly #looking = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  /** Until then, a process that knows of no standby does not look. */
  #restsUntilMs = 0;

  constructor(@Inject(APP_CONFIG) config: AppConfig) {
    this.#url = config.database.url;
  }

  onApplicationBootstrap(): void {
    // With several hosts there is a standby, connected or not.
    if (parseDatabaseUrl(this.#url).urls.length > 1) timelines.noteStandby();
    this.#timer = setInterval(() => this.#look(), REPLICATED_MS);
    this.#timer.unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#looking);
  }

  #look(): void {
    const now = monotonicMs();
    if (!timelines.readable || (!timelines.replicated && now < this.#restsUntilMs)) return;
    // A random part spreads the looks of processes that started together.
    this.#restsUntilMs = now + ALONE_MS * (0.5 + Math.random() / 2);
    // The pools meet the same error and report it.
    const looking = lookAtTimeline(this.#url).catch(() => undefined);
    this.#looking.add(looking);
    void looking.finally(() => this.#looking.delete(looking));
  }
}
