import type { LogLevelName } from '../base/log-level.ts';
import type { Sql } from '../database/sql.ts';
import type { LogLevel } from './log-level.entity.ts';
import type { RowOf } from '../database/rows/row-of.ts';

/** A level that holds for all processes instead of their `LOG_LEVEL`. */
export type LevelForAll = RowOf<LogLevel, 'level' | 'until'>;

const READ = 'select level, until from log_level where until > now()';
const WRITE = `
  insert into log_level (id, level, until) values (1, $1, now() + $2 * interval '1 s')
  on conflict (id) do update set level = excluded.level, until = excluded.until
  returning level, until`;
const REMOVE = 'delete from log_level where until > now() returning 1';

/** The level that holds for all processes now; `null` if each has its own. */
export async function readLevel(sql: Sql): Promise<LevelForAll | null> {
  return (await sql.query<LevelForAll>(READ))[0] ?? null;
}

/** Sets the level of all processes for so many seconds, in the caller's transaction. */
export async function writeLevel(
  sql: Sql,
  level: LogLevelName,
  seconds: number,
): Promise<LevelForAll> {
  return (await sql.query<LevelForAll>(WRITE, [level, seconds]))[0] as LevelForAll;
}

/**
 * Gives each process its own level again, in the caller's transaction.
 * @returns false if each had it already
 */
export async function removeLevel(sql: Sql): Promise<boolean> {
  return (await sql.query(REMOVE)).length > 0;
}
