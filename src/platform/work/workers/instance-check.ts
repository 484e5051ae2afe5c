import { Logger } from '@nestjs/common';
import type { AppConfig } from '../../config/app-config.ts';
import {
  adoptIdentity,
  describeDifferences,
  markRestored,
  type IdentityDifference,
  identityDifferences,
  currentIdentity,
  recordRefusal,
} from './database-identity.ts';
import type { SqlConnection } from '../../database/sql.ts';
import { reportIncident } from '../../logs/incidents.ts';
import { type ServerRow, timelines } from '../../database/health/timelines.ts';
import type { QueueTable } from '../queue/dispatcher.ts';
import {
  currentTimeline,
  describeFailover,
  followTimeline,
  lostSeconds,
  recordStandby,
  recordSynchronous,
} from './failover.ts';

/** What a heartbeat returns for the comparison with the previous heartbeat. */
export interface HeartbeatResult extends Partial<ServerRow> {
  /** Backend process id of the connection. Another connection may lead to another database. */
  backend: number;
  /**
   * Time of this worker's previous heartbeat and of this one, in seconds of the database's clock.
   */
  before: number | null;
  seen: number | null;
  /**
   * Why a worker concluded that the database was restored to an older state; `null` if no worker
   * did.
   */
  doubt: string | null;
  /** Whether commits wait for a standby, and whether the database has recorded that they do. */
  synchronous: boolean;
  wasSynchronous: boolean | null;
  /** Whether the database has recorded within a day that it has a standby. */
  standbyRecorded: boolean;
}

/**
 * Number of seconds of written data that a database may lose without counting as restored. A
 * promoted standby may lack the last seconds of its primary; a restored backup lacks more. For the
 * same reason, this worker's row may be missing on a standby if the row is younger than this.
 */
const LOST_AT_MOST_S = 60;

const CONFIRM = 'carillon instance confirm';

/**
 * Keeps a worker away from a database that was restored or moved since it was confirmed
 * (docs/adr/0022). It checks the identity before a worker registers and after each reconnect, and
 * compares each heartbeat with the last one written.
 */
export class InstanceCheck {
  readonly #log = new Logger('Instance');
  #differences: readonly IdentityDifference[] = [];
  #reported = '';
  #backend: number | undefined;
  #id = 0;
  /** First and last heartbeat since the registration, in seconds of the database's clock. */
  #since: number | null = null;
  #seen: number | null = null;
  /** Timeline of the server that was admitted last; 0 if it is not known. */
  #timeline = 0;

  /** @param tables the queues whose rows are looked up after a failover */
  constructor(
    private readonly config: Pick<AppConfig, 'database' | 'dataDir' | 'instanceName'>,
    private readonly tables: readonly QueueTable[],
  ) {}

  /**
   * Why this process must not work on the database, or `null` if it may. The text is for readiness
   * checks, so it contains no addresses.
   */
  get problem(): string | null {
    if (this.#differences.length === 0) return null;
    const parts = this.#differences.map(({ part }) => part).join(', ');
    return `this database was restored or moved (${parts}); nothing is sent until an operator runs: ${CONFIRM}`;
  }

  /**
   * Checks whether this process may work on the database. Adopts a database that no worker has
   * used.
   */
  async admits(sql: SqlConnection): Promise<boolean> {
    const here = await currentIdentity(sql, this.config);
    const { place, confirmedAt, timeline } = await adoptIdentity(sql, here);
    this.#differences = identityDifferences(place, here);
    // The operator confirmed the database after our last heartbeat, so earlier observations no
    // longer count.
    if (this.#seen !== null && confirmedAt.getTime() > this.#seen * 1000) this.#forget();
    const text = describeDifferences(this.#differences);
    if (text !== this.#reported) {
      if (text)
        this.#log.error(
          `This database was restored or moved: ${text}. Nothing is sent until an operator runs: ${CONFIRM}`,
        );
      else this.#log.log('The database was confirmed; work begins');
    }
    this.#reported = text;
    if (!text) return this.#follow(sql, timeline);
    this.#forget();
    await recordRefusal(sql, here);
    return false;
  }

  /**
   * Follows the database to a server that was promoted, before anything is claimed there
   * (docs/adr/0127).
   * @param recorded the timeline that the database has recorded
   * @returns false if that server lacks more than a failover may lose
   */
  async #follow(sql: SqlConnection, recorded: number | null): Promise<boolean> {
    const timeline = await currentTimeline(sql);
    if (timeline === null) return true;
    const moved = this.#timeline > 0 && timeline > this.#timeline;
    if (recorded !== timeline) {
      // A worker that has just started cannot know what the old server had. What a worker wrote
      // there after others had moved says nothing about the new server.
      const lost = moved ? await lostSeconds(sql, this.#seen) : null;
      if (lost !== null && lost > LOST_AT_MOST_S) return this.#refuse(sql, missing(lost));
      const failover = await followTimeline(sql, this.tables, timeline, lost === 0);
      if (failover) reportIncident('database.failed-over', {}, describeFailover(failover));
    }
    // What this process saw on the old server says nothing about the new one.
    if (moved) this.#forget();
    this.#timeline = timeline;
    return true;
  }

  /**
   * Notes that this process has a new row in `worker`.
   * @returns false if the new id is not higher than the previous one, because an older state was
   *   restored: the row must not be used
   */
  async registered(sql: SqlConnection, id: number): Promise<boolean> {
    const worked = (this.#seen ?? 0) - (this.#since ?? 0);
    // A failover may lose a young row. It cannot lose a row older than a minute, so a number that
    // is used again means that an older state was restored.
    if (worked > LOST_AT_MOST_S && id <= this.#id) {
      return this.#refuse(sql, `worker ${this.#id} was followed by worker ${id}`);
    }
    this.#forget();
    this.#id = id;
    return true;
  }

  /**
   * Compares a heartbeat with the last one.
   * @returns whether the database is still the one that this process may work on
   */
  async accepts(sql: SqlConnection, pulse: HeartbeatResult): Promise<boolean> {
    if (this.#isElsewhere(pulse)) {
      await this.admits(sql);
      return false;
    }
    if (pulse.synchronous !== pulse.wasSynchronous) await recordSynchronous(sql, pulse.synchronous);
    if (pulse.replicated && !pulse.standbyRecorded) await recordStandby(sql);
    if (pulse.doubt !== null || (this.#backend !== undefined && this.#backend !== pulse.backend)) {
      if (!(await this.admits(sql))) return false;
    }
    const lost = this.#seen === null || pulse.before === null ? 0 : this.#seen - pulse.before;
    if (lost > LOST_AT_MOST_S) {
      return this.#refuse(sql, missing(lost));
    }
    this.#backend = pulse.backend;
    this.#seen = pulse.seen ?? this.#seen;
    this.#since ??= this.#seen;
    return true;
  }

  /**
   * Whether the heartbeat comes from a promoted server, to which this worker was not admitted yet.
   * @throws {OldTimelineError} if it comes from a server that was replaced
   */
  #isElsewhere({ server, segment = null, replicated = false }: HeartbeatResult): boolean {
    if (server === undefined) return false;
    const timeline = timelines.note({ server, segment, replicated });
    return timeline !== null && timeline !== this.#timeline;
  }

  async #refuse(sql: SqlConnection, why: string): Promise<false> {
    await markRestored(sql, `the database went back in time: ${why}`);
    await this.admits(sql);
    this.#forget();
    return false;
  }

  /**
   * Forgets earlier observations of the database. They say nothing about the state that an operator
   * confirms.
   */
  #forget(): void {
    this.#id = 0;
    this.#since = null;
    this.#backend = undefined;
    this.#seen = null;
  }
}

const missing = (seconds: number): string =>
  `the last ${Math.round(seconds)} s that a running worker wrote are missing`;
