import type { Socket } from 'node:net';
import type pg from 'pg';
import { Logger } from '../../nest/light.ts';
import { OLD_TIMELINE } from './database-trouble.ts';

/*
 * The highest timeline wins (docs/adr/0127).
 *
 * PostgreSQL begins a new timeline whenever a standby is promoted. So of two servers with the same
 * system identifier, the one with the lower timeline was replaced, even if it still accepts writes.
 * A process that has seen a timeline uses no server with a lower one.
 */

/**
 * Select list that says which server a session is on. Every role may read it. `segment` is null on
 * a standby; its first eight digits are the timeline, in hexadecimal. `replicated`: whether a
 * standby receives the log of this server.
 */
export const SERVER_COLUMNS = `
  (select system_identifier::text from pg_control_system()) as server,
  case when pg_is_in_recovery() then null else pg_walfile_name(pg_current_wal_lsn()) end as segment,
  exists (select from pg_stat_get_wal_senders()) as replicated`;

/** What `SERVER_COLUMNS` returns. */
export interface ServerRow {
  server: string;
  segment: string | null;
  replicated: boolean;
}

/** The process found a server with a higher timeline than the one it used. */
export interface TimelineChange {
  from: number;
  to: number;
}

/** The server of a connection was replaced: this process has seen a higher timeline. */
export class OldTimelineError extends Error {
  readonly code = OLD_TIMELINE;

  constructor(timeline: number, highest: number) {
    super(
      `the database server has timeline ${timeline}, and a server with timeline ${highest} has replaced it`,
    );
  }
}

/** Returns the timeline of a segment's name. */
export function timelineOf(segment: string): number {
  return Number.parseInt(segment.slice(0, 8), 16);
}

interface Session {
  client: pg.ClientBase;
  server: string;
  timeline: number;
}

/** No permission (42501), no such function (42883), or not supported by the server (0A000). */
const CANNOT_SHOW = ['42501', '42883', '0A000'];

/** Whether a server has refused to show its identity or its timeline, and will do so again. */
export const cannotShow = (error: unknown): boolean =>
  CANNOT_SHOW.includes(String((error as { code?: unknown }).code));

/** The timelines that this process has seen, and its connections. */
export class Timelines {
  readonly #log = new Logger('Database');
  /** Highest timeline, by system identifier. */
  readonly #highest = new Map<string, number>();
  readonly #sessions = new Set<Session>();
  readonly #listeners = new Set<(change: TimelineChange) => void>();
  #readable = true;
  #replicated = false;
  /** The refused timeline that was logged last, so that each is logged once. */
  #refused = '';

  /** False once a server has refused to show its timeline. Then nothing is compared. */
  get readable(): boolean {
    return this.#readable;
  }

  /** Whether there is, or was, a standby that could be promoted, as far as this process knows. */
  get replicated(): boolean {
    return this.#replicated;
  }

  /** Notes that there is a standby, or was one, that this process has not seen itself. */
  noteStandby(): void {
    this.#replicated = true;
  }

  /** Notes that a server does not show its timeline, and says so once in the log. */
  noteUnreadable(error: unknown): void {
    if (!this.#readable) return;
    this.#readable = false;
    this.#log.warn(
      `the database does not show its timeline, so this process cannot tell a replaced server from its successor (docs/failover.md): ${String(error)}`,
    );
  }

  /** Returns why a server must not be used: it was replaced. `null` if it may be used. */
  replaced(server: string, timeline: number): OldTimelineError | null {
    const highest = this.#highest.get(server) ?? 0;
    return timeline < highest ? new OldTimelineError(timeline, highest) : null;
  }

  /**
   * Calls `listener` before the connections to older servers are closed. It must not throw.
   * @returns a function that ends the calls
   */
  listen(listener: (change: TimelineChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Notes a new connection. If its server has replaced another one, all connections to that one are
   * closed, and their statements fail.
   * @throws {OldTimelineError} if the server of the connection was replaced: do not use it
   */
  admit(client: pg.ClientBase, row: ServerRow): void {
    // A standby has no timeline of its own yet. If it is promoted, its connections end once more.
    const session = { client, server: row.server, timeline: this.note(row) ?? 0 };
    this.#sessions.add(session);
    client.once('end', () => this.#sessions.delete(session));
  }

  /**
   * Notes what an open connection has read again.
   * @returns the timeline; null on a standby
   * @throws {OldTimelineError} if the server was replaced
   */
  note({ server, segment, replicated }: ServerRow): number | null {
    this.#replicated ||= replicated;
    if (segment === null) return null;
    const timeline = timelineOf(segment);
    const highest = this.#highest.get(server) ?? 0;
    const error = this.replaced(server, timeline);
    if (error) {
      this.#sayRefused(`${server} ${timeline} ${highest}`, error);
      throw error;
    }
    this.#highest.set(server, timeline);
    if (highest > 0 && timeline > highest) this.#leave(server, highest, timeline);
    return timeline;
  }

  #sayRefused(refused: string, { message }: OldTimelineError): void {
    if (refused !== this.#refused)
      this.#log.warn(`a connection was refused: ${message}. Stop the old server (fencing).`);
    this.#refused = refused;
  }

  #leave(server: string, from: number, to: number): void {
    const old = [...this.#sessions].filter((one) => one.server === server && one.timeline < to);
    this.#log.warn(
      `another database server was promoted (timeline ${to} after ${from}); ${old.length} connections to the old one are closed`,
    );
    for (const listener of this.#listeners) listener({ from, to });
    for (const { client, timeline } of old) cut(client, new OldTimelineError(timeline, to));
  }
}

/**
 * Closes a connection at once. The driver has no such function: `end` waits for the server, which
 * may be frozen.
 * @param error what its statements fail with
 */
export function cut(client: pg.ClientBase, error: Error): void {
  const { connection } = client as unknown as { connection: { stream: Socket } };
  connection.stream.destroy(error);
}

/** The timelines of this process. There is one, because all its connections must agree. */
export const timelines = new Timelines();
