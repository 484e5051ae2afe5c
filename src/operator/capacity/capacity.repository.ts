import type { Sql } from '../../platform/database/sql.ts';
import { dayOf } from '../../platform/quotas/quota.ts';
import { HISTORY_DAYS } from './prune-table-samples.ts';
import type { SizeSample, TableSize } from './capacity.ts';

/** Name of the row of `table_sample` for the whole database. */
const WHOLE = '*';
/** Growth is the average over this many days. */
const PACE_DAYS = 7;

// Sizes come from the file system, and rows from the statistics: no table is read. Partitions count
// as their table.
const SIZES = `
  select t.relname as table_name, sum(pg_total_relation_size(c.oid))::bigint as bytes, sum(pg_indexes_size(c.oid))::bigint as index_bytes,
    sum(c.reltuples) filter (where c.reltuples >= 0)::bigint as estimated_rows,
    sum(pg_stat_get_dead_tuples(c.oid))::bigint as dead_rows
  from pg_class c
    left join pg_inherits i on i.inhrelid = c.oid
    join pg_class t on t.oid = coalesce(i.inhparent, c.oid)
  where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
  group by t.relname`;

const TAKE = `
  insert into table_sample (day, table_name, taken_at, bytes, estimated_rows)
  select $1::date, x.table_name, $2::timestamptz, x.bytes, x.estimated_rows
  from (select '${WHOLE}' as table_name, pg_database_size(current_database()) as bytes, null::bigint as estimated_rows
        union all select table_name, bytes, estimated_rows from (${SIZES}) s) x
  where not exists (select from table_sample where day = $1::date)
  on conflict do nothing returning 1`;

/**
 * Stores the sizes of today, if they are not stored yet. Any number of processes may call it.
 * @returns number of rows stored
 */
export async function takeSample(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(TAKE, [dayOf(now), now])).length;
}

// The oldest sample within the week, if it is at least a day old.
const PACE = `
  select distinct on (table_name) table_name, bytes, estimated_rows,
    extract(epoch from $1::timestamptz - taken_at) / 86400 as days
  from table_sample
  where taken_at between $1::timestamptz - interval '${PACE_DAYS} days 12 hours' and $1::timestamptz - interval '1 day'
  order by table_name, day`;

const TABLES = `
  with pace as (${PACE})
  select s.table_name as "table", s.estimated_rows::float8 as rows, s.bytes::float8 as bytes,
    s.index_bytes::float8 as "indexBytes", s.dead_rows::float8 as "deadRows",
    round((s.bytes - p.bytes) / p.days)::float8 as "bytesPerDay",
    round((s.estimated_rows - p.estimated_rows) / p.days)::float8 as "rowsPerDay"
  from (${SIZES}) s
    left join pace p on p.table_name = s.table_name
  order by s.bytes desc, s.table_name`;

/** All tables, largest first. */
export function readTables(sql: Sql, now: Date): Promise<TableSize[]> {
  return sql.query<TableSize>(TABLES, [now]);
}

const DATABASE = `
  with pace as (${PACE})
  select pg_database_size(current_database())::float8 as bytes,
    (select round((pg_database_size(current_database()) - p.bytes) / p.days)::float8 from pace p where p.table_name = '${WHOLE}') as "bytesPerDay"`;

/** Size of the database now, and its growth in a day; `null` without a sample of a day ago. */
export async function readDatabase(
  sql: Sql,
  now: Date,
): Promise<{ bytes: number; bytesPerDay: number | null }> {
  const [row] = await sql.query<{ bytes: number; bytesPerDay: number | null }>(DATABASE, [now]);
  return row ?? { bytes: 0, bytesPerDay: null };
}

const HISTORY = `
  select to_char(day, 'YYYY-MM-DD') as day, bytes::float8 as bytes from table_sample
  where table_name = '${WHOLE}' order by table_sample.day desc limit ${HISTORY_DAYS}`;

/** Sizes of the database by day, oldest first. */
export async function readHistory(sql: Sql): Promise<SizeSample[]> {
  return (await sql.query<SizeSample>(HISTORY)).toReversed();
}
