import { JointLookUp } from '../../base/concurrency/joint-look-up.ts';
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
   * Returns a position that the primary told after the call. Calls at the same time share a
   * statement.
   * @throws {StandbyUnusableError} if the position does not cover all commits
   * @throws the error of the statement, for example because the server became a standby
   */
  async read(): Promise<Position> {
    const position = await this.#positions.get('');
    if (!position) throw new StandbyUnusableError('cannot be compared with the primary');
    return position;
  }

  /** Returns the system identifier of the primary: its standbys have the same one. */
  async server(): Promise<string> {
    const [row] = await this.#sql.query<{ server: string }>(SERVER);
    return row?.server ?? '';
  }

  async #ask(): Promise<Position> {
    const [row] = await this.#sql.query<PositionRow>(POSITION);
    if (!row) throw new StandbyUnusableError('cannot be compared with the primary');
    if (row.level === 'off')
      throw new StandbyUnusableError(
        'cannot be compared with the primary, because synchronous_commit is off there',
      );
    return { timeline: timelineOf(row.segment), bytes: row.bytes };
  }
}
