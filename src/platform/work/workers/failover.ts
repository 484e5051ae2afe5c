import { SYSTEM } from '../../audit/actor.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import type { Sql, SqlConnection } from '../../database/sql.ts';
import { SERVER_COLUMNS, type ServerRow, timelines } from '../../database/health/timelines.ts';
import type { QueueTable } from '../queue/dispatcher.ts';
import { AMBIGUOUS_WAIT_SECONDS, STRAGGLERS_DUE } from '../queue/queue-statements.ts';
import { ROW_CLAIMED, ROW_WAITING } from '../queue/row-state.ts';
import type { Instance } from './instance.entity.ts';
import type { RowOf } from '../../database/rows/row-of.ts';

/*
 * What the first worker does on a database server that was promoted (docs/adr/0127). A standby that
 * was not synchronous may lack the last seconds of the old server, and with them the fact that a
 * message has left.
 */

/** A change to another database server, as the table `instance` records it. */
export interface Failover {
  from: number;
  to: number;
  /** When a worker noticed it, as an ISO time of the database's clock. */
  at: string;
  /**
   * Time of the last commit of the old server that the new one has, or of the last heartbeat if the
   * new server was restarted meanwhile; `null` if neither is known.
   */
  since: string | null;
  /** Whether the old server confirmed each commit only after a standby had it. */
  synchronous: boolean;
  /** Rows of the queues that are looked up before they are sent. */
  rows: number;
}

/**
 * Rows that become due within this time after the failover was noticed are looked up, too. A worker
 * that still reaches the old server may send them from there until it notices the new one.
 */
const STRAGGLER_SECONDS = 10;
/** So long after a failover, a worker that was not seen on the new server may be such a one. */
const ABSENT_SECONDS = 60;
/**
 * A row that was created later than this after the last commit of the old server was created on the
 * new one.
 */
const CREATED_MARGIN_SECONDS = 1;
const ROWS_PER_STATEMENT = 2_000;
/** Time limit of each statement that finds or marks rows. */
const MARKING_MS = 60_000;

/**
 * Reads the timeline of the current server.
 * @returns `null` on a standby, and if the server does not show it
 * @throws {OldTimelineError} if the server was replaced
 */
export async function currentTimeline(sql: Sql): Promise<number | null> {
  if (!timelines.readable) return null;
  const [row] = await sql.query<ServerRow>(`select ${SERVER_COLUMNS}`);
  return row ? timelines.note(row) : null;
}

/**
 * Time of the last commit of the old server. A server that was restarted after its promotion does
 * not know it; the last heartbeat before $1 that it has is then the best answer. Later ones were
 * written on the new server.
 */
const SINCE = `
  select extract(epoch from coalesce(pg_last_xact_replay_timestamp(),
    (select max(seen_at) from worker where seen_at <= to_timestamp($1) + interval '1 ms')))::float8 as since`;

/**
 * Returns how many seconds are missing that a running worker wrote on the old server; `null` if it
 * is not known.
 * @param seen the worker's last heartbeat there, in seconds of the database's clock
 */
export async function lostSeconds(sql: Sql, seen: number | null): Promise<number | null> {
  if (seen === null) return null;
  const [row] = await sql.query<{ since: number | null }>(SINCE, [seen]);
  return row?.since ? Math.max(0, seen - row.since) : null;
}

interface RecordedTimeline extends RowOf<Instance, 'timeline' | 'synchronous'> {
  now: Date;
  /** Time of the last commit that came from the old server; `null` after a restart. */
  replayed: Date | null;
  /** The last heartbeat before the server was started. */
  seen: Date | null;
  name: string;
}

const LOCK = `
  select timeline, synchronous, now() as now, pg_last_xact_replay_timestamp() as replayed,
    (select max(seen_at) from worker where seen_at < pg_postmaster_start_time()) as seen, place ->> 'name' as name
  from instance where id = 1 for update`;
const RECORD = 'update instance set timeline = $1 where id = 1';
const RECORD_FAILOVER = `
  update instance set timeline = $1, failover = $2, stragglers_marked_at = case when $3::boolean then now() end
  where id = 1`;

/**
 * Records the timeline of the database. If it is higher than the recorded one, rows that the old
 * server may have sent are marked first: they are looked up before they are sent. Of several
 * workers one does it; the others wait for it.
 * @param complete whether this worker moved here from the old server, and all that it wrote there
 *   is here (`lostSeconds` is 0)
 * @returns the failover, or `null` if there was none, or if another worker has recorded it
 */
export function followTimeline(
  sql: SqlConnection,
  tables: readonly QueueTable[],
  to: number,
  complete: boolean,
): Promise<Failover | null> {
  return sql.transaction(async (inside) => {
    const [recorded] = await inside.query<RecordedTimeline>(LOCK);
    if (!recorded || recorded.timeline === to) return null;
    const { timeline: from, synchronous, now, replayed } = recorded;
    if (from === null || from > to) {
      await inside.query(RECORD, [to]);
      return null;
    }
    const safe = synchronous && complete;
    // A heartbeat is too inexact to tell which rows were created on the new server.
    const rows = safe ? 0 : await markRows(inside, tables, replayed);
    const since = (replayed ?? recorded.seen)?.toISOString() ?? null;
    const failover = { from, to, at: now.toISOString(), since, synchronous: safe, rows };
    await inside.query(RECORD_FAILOVER, [to, JSON.stringify(failover), !safe]);
    await recordAudit(inside, {
      actor: SYSTEM,
      action: 'instance.failed_over',
      target: { type: 'instance', id: recorded.name },
      details: { ...failover },
    });
    return failover;
  });
}

/** Describes a failover for operators. The words of the incident come before it. */
export function describeFailover({ from, to, at, since, synchronous, rows }: Failover): string {
  const begin = `timeline ${to} after ${from}`;
  if (synchronous) return `${begin}; nothing is missing, because a standby had every commit`;
  const seconds = since === null ? null : Math.ceil((Date.parse(at) - Date.parse(since)) / 1000);
  const missing =
    seconds === null
      ? 'what the old server wrote last may be missing'
      : `up to ${Math.max(0, seconds)} s may be missing (since ${since})`;
  return `${begin}; ${missing}; ${rows} due messages, reminders and changes are looked up before they are sent`;
}

/**
 * @param which `waiting`: only rows that no worker has claimed
 * @returns the number of marked rows
 */
async function markRows(
  sql: Sql,
  tables: readonly QueueTable[],
  since: Date | null,
  which: 'all' | 'waiting' = 'all',
): Promise<number> {
  let count = 0;
  // A backlog may be long, and no worker begins before its rows are marked.
  await sql.query(`set local statement_timeout = ${MARKING_MS}`);
  for (const table of tables.filter(({ noEffectBeforeHandOff }) => noEffectBeforeHandOff)) {
    const [found] = await sql.query<{ ids: string[] }>(dueRows(table, which), [since], {
      statementTimeoutMs: MARKING_MS,
    });
    const ids = found?.ids ?? [];
    for (let from = 0; from < ids.length; from += ROWS_PER_STATEMENT) {
      const some = ids.slice(from, from + ROWS_PER_STATEMENT);
      const marked = await sql.query(mark(table, which), [some], {
        statementTimeoutMs: MARKING_MS,
      });
      count += marked.length;
    }
  }
  return count;
}

const FAILED_OVER_AT = `(failover ->> 'at')::timestamptz`;
const ABSENT = `
  now() < ${FAILED_OVER_AT} + interval '${ABSENT_SECONDS} s' and (
    exists (select from worker where moved_at is null and seen_at < ${FAILED_OVER_AT})
    or exists (select from lost_worker where seen_at < ${FAILED_OVER_AT} and lost_at > ${FAILED_OVER_AT}))`;
/** One worker at a time gets a row. It marks next, unless that has ended. */
const TAKE_TURN = `
  update instance set stragglers_marked_at = case when ${ABSENT} then now() end
  where id = 1 and ${STRAGGLERS_DUE}
  returning stragglers_marked_at is not null as marks, coalesce(pg_last_xact_replay_timestamp(), ${FAILED_OVER_AT}) as since`;

/**
 * Marks rows that become due soon, while a worker of the old server was not seen on the new one. It
 * may still reach the old server, and send from there what both servers know. Any worker calls it
 * when its heartbeat says so (`STRAGGLERS_DUE`). It ends once all workers are known, or after a
 * minute.
 */
export async function markStragglers(
  sql: SqlConnection,
  tables: readonly QueueTable[],
): Promise<void> {
  const [turn] = await sql.query<{ marks: boolean; since: Date }>(TAKE_TURN);
  if (turn?.marks)
    await sql.transaction((inside) => markRows(inside, tables, turn.since, 'waiting'));
}

/**
 * Rows that the old server may have sent. $1 its last commit that is known here, or null. Rows that
 * are marked already are left out: they have been given their time.
 */
const dueRows = ({ table, createdAt }: QueueTable, which: 'all' | 'waiting'): string => `
  select coalesce(array_agg(id order by id), '{}') as ids from (
    select id from ${table} where state = ${ROW_WAITING} and run_at <= now() + interval '${STRAGGLER_SECONDS} s'
      ${which === 'waiting' ? 'and not ambiguous' : `union all select id from ${table} where state = ${ROW_CLAIMED}`}) j
  where (${createdAt ?? 'null::timestamptz'} > $1::timestamptz + interval '${CREATED_MARGIN_SECONDS} s') is not true`;

/**
 * Marks the rows $1. A message that has just left, or leaves from the old server when it becomes
 * due, appears in the Sent folder with a delay. A claimed row also gets the hand-off marker, which
 * may be missing here: the row then waits as long after a worker has given it back. A row that was
 * never claimed gets a fencing token, because it would else look like a send within a request.
 * `waiting` leaves out rows that a worker of the new server has claimed meanwhile.
 */
const mark = (
  { table, attemptAssumedColumn, lookUpBy }: QueueTable,
  which: 'all' | 'waiting',
): string => `
  update ${table} j set ambiguous = true,
    ${attemptAssumedColumn ? `${attemptAssumedColumn} = ${attemptAssumedColumn} or (not ambiguous and handoff_at is null),` : ''}
    fence = case when state = ${ROW_WAITING} and not ambiguous then greatest(fence, 1) else fence end,
    handoff_at = case when state = ${ROW_CLAIMED} then coalesce(handoff_at, now()) else handoff_at end,
    run_at = case when state = ${ROW_WAITING}
      then least(greatest(run_at, now()) + interval '${AMBIGUOUS_WAIT_SECONDS} s', greatest(run_at, now(), ${lookUpBy ?? "'infinity'"}))
      else run_at end
  where id = any(array(
    select id from ${table} where id = any($1::uuid[]) ${which === 'waiting' ? `and state = ${ROW_WAITING} and not ambiguous` : ''}
    order by id for update))
  returning 1`;

const SYNCHRONOUS = 'update instance set synchronous = $1 where id = 1';

/** Records whether commits wait for a standby. The next server then knows it of this one. */
export async function recordSynchronous(sql: Sql, synchronous: boolean): Promise<void> {
  await sql.query(SYNCHRONOUS, [synchronous]);
}

const STANDBY = 'update instance set standby_seen_at = now() where id = 1';

/**
 * Records that the database has a standby. A process that starts while it is away then looks each
 * second whether it was promoted (`TimelineWatch`).
 */
export async function recordStandby(sql: Sql): Promise<void> {
  await sql.query(STANDBY);
}
