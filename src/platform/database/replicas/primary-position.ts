import { JointLookUp } from '../../base/concurrency/joint-look-up.ts';
import { describeDatabaseTrouble } from '../health/database-trouble.ts';
import { timelineOf } from '../health/timelines.ts';
import type { Sql } from '../sql.ts';
import { StandbyUnusableError } from './standby-unusable-error.ts';

/** How far the write-ahead log of the primary was flushed at some moment. */
export interface Position {
  /** Timeline of the log. Positions of different timelines cannot be compared. */
  timeline: number;
  /** Bytes since the beginning of the log. Exact up to 2^53, which is 9 PB of log. */
  bytes: number;
}

interface PositionRow {
  bytes: number;
  segment: string;
  level: string;
}

// Not the position of insertion: it includes what open transactions have written, and a standby
// gets nothing that is not flushed.
const POSITION = `
  select pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::float8 as bytes,
    pg_walfile_name(pg_current_wal_flush_lsn()) as segment, current_setting('synchronous_commit') as level`;
const SERVER = 'select system_identifier::text as server from pg_control_system()';

/**
 * Asks the primary for its position. A commit is flushed before it is acknowledged, and before
 * other sessions see it. So a standby that has replayed the position shows everything that was
 * committed before `read` was called, by whichever process.
 */
export class PrimaryPosition {
  readonly #sql: Sql;
  readonly #positions: JointLookUp<Position>;

  /** @param sql statements on the primary */
  constructor(sql: Sql) {
    this.#sql = sql;
    this.#positions = new JointLookUp(async (keys) => {
      const position = await this.#ask();
      return new Map(keys.map((key) => [key, position]));
    });
  }

  /**
   * Asks the primary for its position. Calls at the same time share one question, which is sent
   * after all of them.
   * @throws {StandbyUnusableError} if the primary does not tell it, or it does not cover all
   *   commits
   */
  async read(): Promise<Position> {
    const position = await this.#positions.get('');
    if (!position) throw new Error('the look-up left out the position');
    return position;
  }

  /**
   * Returns the system identifier of the primary: its standbys have the same one.
   * @throws {StandbyUnusableError} if the primary does not tell it
   */
  async server(): Promise<string> {
    return (await this.#one<{ server: string }>(SERVER)).server;
  }

  async #ask(): Promise<Position> {
    const { level, segment, bytes } = await this.#one<PositionRow>(POSITION);
    if (level === 'off')
      throw new StandbyUnusableError(
        'cannot be compared with the primary, because synchronous_commit is off there',
      );
    return { timeline: timelineOf(segment), bytes };
  }

  async #one<R extends object>(text: string): Promise<R> {
    try {
      const [row] = await this.#sql.query<R>(text);
      if (row) return row;
      throw new Error('the primary has returned no row');
    } catch (error) {
      throw new StandbyUnusableError(
        `cannot be compared with the primary, which ${describeDatabaseTrouble(error)}`,
      );
    }
  }
}
