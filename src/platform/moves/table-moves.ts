import type { Sql } from '../database/sql.ts';
import type { RowOf } from '../database/rows/row-of.ts';
import type { TableMove } from './table-move.entity.ts';

/** A move, and the rows that it still has to move, as PostgreSQL estimates them. */
export interface MoveProgress extends RowOf<
  TableMove,
  'name' | 'oldTable' | 'beganAt' | 'finishedAt' | 'moved'
> {
  /** Estimated rows of the old table; 0 once the move has finished. */
  rowsLeft: number;
}

const LIST = `
  select m.name, m.old_table as "oldTable", m.began_at as "beganAt", m.finished_at as "finishedAt", m.moved,
    case when m.finished_at is null
      then coalesce((select s.n_live_tup from pg_stat_user_tables s
                     where s.schemaname = current_schema and s.relname = m.old_table), 0)
      else 0 end as "rowsLeft"
  from table_move m order by m.name`;
const START = `update table_move set began_at = now() where began_at is null returning name`;
const HAS_BEGUN = `select 1 from table_move where name = $1 and began_at is not null`;

/** All moves, by name. */
export function listMoves(sql: Sql): Promise<MoveProgress[]> {
  return sql.query<MoveProgress>(LIST);
}

/**
 * Begins all moves that have not begun, in the caller's transaction. No process of the release
 * before may run: such a process does not see rows in the new tables.
 * @returns the names of the moves that begin
 */
export async function beginMoves(sql: Sql): Promise<string[]> {
  const rows = await sql.query<RowOf<TableMove, 'name'>>(START);
  return rows.map(({ name }) => name);
}

/**
 * Whether rows are written to the new table of a move. Once true, this stays true. A writer asks in
 * its transaction, after it has locked or inserted what its rows belong to.
 * @param name the new table
 */
export async function moveHasBegun(sql: Sql, name: string): Promise<boolean> {
  return (await sql.query(HAS_BEGUN, [name])).length > 0;
}

/**
 * SQL condition: nothing writes to the old table of a move any more. A transaction that began
 * before the move may have written to it, but none lasts for an hour. In a new database, no process
 * has used the old table.
 */
const IS_OVER = `finished_at = began_at or finished_at < now() - interval '1 hour'`;

/**
 * Whether the old table of a move may have rows, as SQL. It has none an hour after the move, when
 * every transaction has ended that began before it, and none in a database that never used it.
 * @param name the new table
 */
export const oldTableInUse = (name: string): string => `
  not exists (select 1 from table_move
    where name = '${name}' and (${IS_OVER}))`;

const OPEN = `select name from table_move where began_at is not null and (${IS_OVER}) is not true`;

/** Names of the moves that have begun and whose old tables may still get rows. */
export async function openMoves(sql: Sql): Promise<Set<string>> {
  const rows = await sql.query<RowOf<TableMove, 'name'>>(OPEN);
  return new Set(rows.map(({ name }) => name));
}
