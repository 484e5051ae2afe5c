import type { Sql } from '../database/sql.ts';
import type { WaitingSession } from './commit-clock.ts';

/** What the primary says about its standbys. */
export interface StandbyState {
  /** Whether commits wait for a standby, by the settings of the server. */
  synchronous: boolean;
  /** Receivers of the write-ahead log that are connected, such as standbys. */
  standbys: number;
  /**
   * Whether commits wait for more standbys than are connected. Without the role `pg_monitor`, only
   * if no receiver at all is connected.
   */
  missing: boolean;
  /**
   * Sessions of our role in our database whose commits wait for a standby: at most 1000, oldest
   * first. Those of other programs may wait for more than ours do.
   */
  waiting: WaitingSession[];
  /**
   * Bytes of the write-ahead log that each standby has not stored, by its `application_name`. Empty
   * without the role `pg_monitor`.
   */
  lags: { name: string; bytes: number }[];
}

/**
 * Roles without `pg_monitor` see that receivers are connected, but not who they are and what they
 * lack: `sync_state` is null. They see what sessions of their own role wait for.
 *
 * `synchronous_standby_names` is a list of names, or `[FIRST | ANY] number (names)`.
 */
const STATE = `
  with receiver as materialized (
    select application_name as name, sync_state, flush_lsn from pg_stat_replication),
  setting as (
    select current_setting('synchronous_standby_names') as names,
      current_setting('synchronous_commit') as level)
  select
    names <> '' and level not in ('off', 'local') as synchronous,
    (select count(*) from receiver) as standbys,
    (select case when bool_or(sync_state is not null)
       then count(*) filter (where sync_state in ('sync', 'quorum'))
       else count(*) end from receiver)
      < coalesce((regexp_match(names, '^\\s*(?:(?:first|any)\\s+)?(\\d+)\\s*\\(', 'i'))[1]::int, 1)
      as missing,
    (select coalesce(json_agg(json_build_object('session', pid, 'began', query_start, 'seconds', seconds)), '[]')
     from (
       select pid, query_start, extract(epoch from clock_timestamp() - query_start)::float8 as seconds
       from pg_stat_activity
       where wait_event = 'SyncRep' and datname = current_database() and usename = current_user
       order by query_start limit 1000) commit) as waiting,
    (select coalesce(json_agg(json_build_object('name', name, 'bytes', bytes)), '[]')
     from (
       select name, max(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn))::float8 as bytes
       from receiver where flush_lsn is not null and not pg_is_in_recovery()
       group by name order by name limit 20) lag) as lags
  from setting`;

/** Reads the state from the primary. Ordinary roles may run the statement. */
export async function readStandbys(sql: Sql): Promise<StandbyState> {
  const [row] = await sql.query<StandbyState>(STATE);
  if (!row) throw new Error('the server has no settings');
  return { ...row, missing: row.synchronous && row.missing };
}
