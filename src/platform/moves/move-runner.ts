import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Database, type Sql } from '../database/sql.ts';
import { monotonicMs } from '../base/time/clock.ts';
import type { RowOf } from '../database/rows/row-of.ts';
import type { TableMove } from './table-move.entity.ts';
import { openMoves } from './table-moves.ts';

/** How the rows of one table are moved. */
export interface MoveSteps {
  /** Name of the move: the new table. */
  name: string;
  /**
   * Moves some rows from the old table to the new one, in the caller's transaction. Leaves out rows
   * that another transaction has locked. Runs in one process at a time.
   * @returns number of rows that are no longer in the old table
   */
  step(sql: Sql): Promise<number>;
}

const MOST_MS = 50_000;

// The lock keeps other workers out until the step has committed, or its worker has died.
const CLAIM = `
  select old_table as "oldTable" from table_move
  where name = $1 and began_at is not null for no key update skip locked`;
const MOVED = `update table_move set moved = moved + $2 where name = $1`;
const FINISHED = (oldTable: string) => `
  update table_move set finished_at = now()
  where name = $1 and finished_at is null and not exists (select 1 from "${oldTable}")`;

/**
 * Moves rows of large tables, a short transaction at a time, so that a worker that dies loses none
 * and another one continues. Modules register their moves when they start.
 *
 * A move that has finished is looked at again for an hour (`openMoves`).
 */
@Injectable()
export class MoveRunner {
  readonly #log = new Logger(MoveRunner.name);
  readonly #moves: MoveSteps[] = [];

  constructor(private readonly database: Database) {}

  add(move: MoveSteps): void {
    this.#moves.push(move);
  }

  /** Runs for less than a minute, so that another process can continue. */
  async runBriefly(stop: AbortSignal): Promise<void> {
    await this.run(AbortSignal.any([stop, AbortSignal.timeout(MOST_MS)]));
  }

  /**
   * Runs all moves that have begun, one after the other, until nothing is left to move or `until`
   * is aborted. Pauses after each step for as long as the step took.
   * @returns number of rows that were moved
   */
  async run(until?: AbortSignal): Promise<number> {
    let moved = 0;
    const open = await openMoves(this.database);
    for (const move of this.#moves.filter(({ name }) => open.has(name))) {
      const count = await this.#runMove(move, until);
      if (count > 0) this.#log.log(`moved ${count} rows to the table ${move.name}`);
      moved += count;
    }
    return moved;
  }

  async #runMove(move: MoveSteps, until?: AbortSignal): Promise<number> {
    for (let moved = 0; ;) {
      const begun = monotonicMs();
      const count = until?.aborted
        ? 0
        : await this.database.transaction((sql) => runStep(sql, move));
      if (count === 0) return moved;
      moved += count;
      await pause(monotonicMs() - begun, until);
    }
  }
}

/** @returns number of moved rows; 0 also if the move has not begun, or another process runs it */
async function runStep(sql: Sql, move: MoveSteps): Promise<number> {
  const [claimed] = await sql.query<RowOf<TableMove, 'oldTable'>>(CLAIM, [move.name]);
  if (!claimed) return 0;
  const count = await move.step(sql);
  if (count > 0) await sql.query(MOVED, [move.name, count]);
  else await sql.query(FINISHED(claimed.oldTable), [move.name]);
  return count;
}

/** Ends early if `until` is aborted. */
async function pause(ms: number, until?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: until, ref: false }).catch(() => undefined);
}
