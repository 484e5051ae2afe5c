import type { Sql } from '../database/sql.ts';
import type { RowOf } from '../database/rows/row-of.ts';
import type { AccountFill } from './account-fill.entity.ts';

/** A table whose rows were stored without `account_id`, and where to find it. */
export interface FilledTable {
  table: string;
  /** Columns of its primary key, in their order, each with its type. */
  key: Readonly<Record<string, 'uuid' | 'integer'>>;
  /** A table that has `id` and `account_id`. */
  parent: string;
  /** The column that has the parent's id. */
  reference: string;
}

/** Less than every key: ids are not zero, and counters start at 0. */
const LOWEST = { uuid: '00000000-0000-0000-0000-000000000000', integer: '-1' };

const TAKE = `
  select position, skipped from account_fill
  where table_name = $1 and finished_at is null for update skip locked`;
const CONTINUE = 'update account_fill set position = $2, skipped = $3 where table_name = $1';
const FINISH = 'update account_fill set position = null, finished_at = now() where table_name = $1';

/** One batch of a table. */
interface Batch {
  read: number;
  /** Rows that had no account. */
  empty: number;
  filled: number;
  /** Key of the last row; `null` if no row was left. */
  last: string[] | null;
}

// Rows that a transaction has locked are skipped: waiting for several of them could deadlock with a
// sync pass, which locks them in another order.
function batchOf({ table, key, parent, reference }: FilledTable): string {
  const names = Object.keys(key);
  const columns = (alias: string) => names.map((name) => `${alias}.${name}`).join(', ');
  const values = Object.values(key).map((type, index) => `$${index + 2}::${type}`);
  return `
    with given as materialized (
      select ${columns('t')}, t.account_id is null as empty from ${table} t
      where (${columns('t')}) > (${values.join(', ')}) order by ${columns('t')} limit $1),
    locked as materialized (
      select ${columns('t')}, t.${reference} as parent_id from given g join ${table} t using (${names.join(', ')})
      where g.empty for no key update of t skip locked),
    filled as (
      update ${table} t set account_id = p.account_id from locked l join ${parent} p on p.id = l.parent_id
      where (${columns('t')}) = (${columns('l')}) returning 1)
    select count(*)::int as read, count(*) filter (where empty)::int as empty,
      (select count(*)::int from filled) as filled,
      (select array[${names.map((name) => `${name}::text`).join(', ')}] from given
       order by ${names.map((name) => `${name} desc`).join(', ')} limit 1) as last
    from given`;
}

const UNFINISHED = 'select table_name as "tableName" from account_fill where finished_at is null';

/** Names of the tables that are not filled yet. */
export async function unfinishedTables(sql: Sql): Promise<Set<string>> {
  const rows = await sql.query<RowOf<AccountFill, 'tableName'>>(UNFINISHED);
  return new Set(rows.map(({ tableName }) => tableName));
}

/**
 * Writes `account_id` of the next rows of a table, in the caller's transaction, and stores how far
 * it has come. If it had to skip a row, the next call after the last row begins again.
 * @param limit most rows that are read
 * @returns `read`: number of rows; `more`: false after the last row, if the table is finished, or
 *   if another process is filling it now
 */
export async function fillAccount(
  sql: Sql,
  filled: FilledTable,
  limit: number,
): Promise<{ read: number; more: boolean }> {
  const { table, key } = filled;
  const [state] = await sql.query<RowOf<AccountFill, 'position' | 'skipped'>>(TAKE, [table]);
  if (!state) return { read: 0, more: false };
  const position = state.position ?? Object.values(key).map((type) => LOWEST[type]);
  const [batch] = await sql.query<Batch>(batchOf(filled), [limit, ...position]);
  if (!batch) throw new Error('a statement that counts returned no row');
  const skipped = state.skipped || batch.filled < batch.empty;
  const more = batch.read === limit;
  if (more) await sql.query(CONTINUE, [table, batch.last, skipped]);
  else if (skipped) await sql.query(CONTINUE, [table, null, false]);
  else await sql.query(FINISH, [table]);
  return { read: batch.read, more };
}
