import { ConflictError } from '../../platform/base/errors/domain-error.ts';
import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import type { Database, Sql } from '../../platform/database/sql.ts';
import { beginMoves, listMoves, type MoveProgress } from '../../platform/moves/table-moves.ts';

/** A process that has reported within the last 30 seconds. */
export interface ProcessOfMoves {
  /** Name of its machine. */
  host: string;
  /** Number on its machine. */
  pid: number;
  /** What it runs: `api`, `worker`. */
  roles: string[];
  /** By the clock of its machine. */
  startedAt: Date;
  /** Whether it started before the newest table moves were added, so with an older release. */
  older: boolean;
}

/** The moves, and the processes that run on the database. */
export interface MovesReport {
  moves: MoveProgress[];
  processes: ProcessOfMoves[];
}

const PROCESSES = `
  select p.host, p.pid, p.roles, p.started_at as "startedAt",
    p.started_at < (select max(m.added_at) from table_move m) as older
  from running_process p where p.seen_at > now() - interval '30 s' order by p.started_at, p.host, p.pid`;

/**
 * Moves of large tables, for operators. Needs no framework, so that `carillon` starts at once.
 */
export class OperatorMoves {
  constructor(private readonly database: Database) {}

  report(): Promise<MovesReport> {
    return reportOf(this.database);
  }

  /**
   * Begins all moves that have not begun. Workers move the rows.
   * @returns the names of the moves that begin
   * @throws {ConflictError} if a process of an older release is running
   */
  start(actor: Actor): Promise<string[]> {
    return this.database.transaction(async (sql) => {
      const older = (await reportOf(sql)).processes.filter((process) => process.older);
      if (older.length > 0) {
        const names = older.map(({ host, pid }) => `${host} (process ${pid})`).join(', ');
        throw new ConflictError(
          'moves.older-process',
          `These processes started before the last migration of a table and would not see its rows: ${names}. Replace them, wait 30 seconds, and start the moves again.`,
        );
      }
      const begun = await beginMoves(sql);
      for (const name of begun)
        await recordAudit(sql, {
          actor,
          action: 'move.start',
          target: { type: 'table', id: name },
        });
      return begun;
    });
  }
}

async function reportOf(sql: Sql): Promise<MovesReport> {
  const moves = await listMoves(sql);
  return { moves, processes: await sql.query<ProcessOfMoves>(PROCESSES) };
}
