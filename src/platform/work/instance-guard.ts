import { Logger } from '@nestjs/common';
import type { AppConfig } from '../config/app-config.ts';
import {
  adoptPlace,
  describeDifferences,
  doubtPlace,
  type PlaceDifference,
  placeDifferences,
  placeHere,
} from './instance-place.ts';
import type { Sql } from '../database/sql.ts';

/** What a heartbeat says about the database it was written to, besides that it was. */
export interface Pulse {
  /** The connection it came over; another one may lead to another database. */
  backend: number;
  /** This worker's last heartbeat before this one and this one, in seconds of the database's own clock. */
  before: number | null;
  seen: number | null;
  /** Set when some worker took the database for an older state of itself. */
  doubt: string | null;
}

/**
 * A standby that is promoted may lack the last seconds of its primary; a copy that is put back lacks more. Also how
 * long a row of ours may be missing on such a standby.
 */
const LOST_AT_MOST_S = 60;

const CONFIRM = 'carillon instance confirm';

/**
 * Keeps a worker away from a database that is not its own: one that was restored or moved since it was confirmed
 * (docs/adr/0022). Looks before a worker registers, whenever its connection is a new one, and compares each heartbeat
 * with what it wrote last.
 */
export class InstanceGuard {
  readonly #log = new Logger('Instance');
  #differences: readonly PlaceDifference[] = [];
  #told = '';
  #backend: number | undefined;
  #id = 0;
  /** First and last heartbeat since the registration, in seconds of the database's clock. */
  #since: number | null = null;
  #seen: number | null = null;

  constructor(private readonly config: Pick<AppConfig, 'database' | 'dataDir' | 'instanceName'>) {}

  /** Null while this process may work; else why not, for readiness: without addresses. */
  get problem(): string | null {
    if (this.#differences.length === 0) return null;
    const parts = this.#differences.map(({ part }) => part).join(', ');
    return `this database was restored or moved (${parts}): nothing is sent; to take it over run: ${CONFIRM}`;
  }

  /** Whether this process may work on the database. Adopts one that nobody has worked on. */
  async admits(sql: Sql): Promise<boolean> {
    const here = await placeHere(sql, this.config);
    const { place, confirmedAt } = await adoptPlace(sql, here);
    this.#differences = placeDifferences(place, here);
    // The operator knows of whatever happened before.
    if (this.#seen !== null && confirmedAt.getTime() > this.#seen * 1000) this.#forget();
    const text = describeDifferences(this.#differences);
    if (text !== this.#told) {
      if (text)
        this.#log.error(
          `This database was restored or moved: ${text}. Nothing is sent. Run: ${CONFIRM}`,
        );
      else this.#log.log('The database was confirmed: work begins');
    }
    this.#told = text;
    if (text) this.#forget();
    return !text;
  }

  /**
   * Notes that this process has a new row in `worker`.
   * @returns false when the database has counted backwards since the last time: the row must not be used
   */
  async registered(sql: Sql, id: number): Promise<boolean> {
    const worked = (this.#seen ?? 0) - (this.#since ?? 0);
    // A row that was young may have been lost with a primary; an old one, and with it its number, was not.
    if (worked > LOST_AT_MOST_S && id <= this.#id) {
      return this.#refuse(sql, `after worker ${this.#id} comes worker ${id}`);
    }
    this.#forget();
    this.#id = id;
    return true;
  }

  /** @returns whether the database that answered a heartbeat is still the one this process may work on */
  async accepts(sql: Sql, pulse: Pulse): Promise<boolean> {
    if (pulse.doubt !== null || (this.#backend !== undefined && this.#backend !== pulse.backend)) {
      if (!(await this.admits(sql))) return false;
    }
    const lost = this.#seen === null || pulse.before === null ? 0 : this.#seen - pulse.before;
    if (lost > LOST_AT_MOST_S) {
      return this.#refuse(
        sql,
        `it lacks the last ${Math.round(lost)} s of what a living worker wrote`,
      );
    }
    this.#backend = pulse.backend;
    this.#seen = pulse.seen ?? this.#seen;
    this.#since ??= this.#seen;
    return true;
  }

  async #refuse(sql: Sql, why: string): Promise<false> {
    await doubtPlace(sql, `it went back in time: ${why}`);
    await this.admits(sql);
    this.#forget();
    return false;
  }

  /** What was known of another state of the database says nothing about what the operator confirms. */
  #forget(): void {
    this.#id = 0;
    this.#since = null;
    this.#backend = undefined;
    this.#seen = null;
  }
}
