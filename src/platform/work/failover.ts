import { SYSTEM } from '../audit/actor.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Sql, SqlConnection } from '../database/sql.ts';
import { SERVER_COLUMNS, type ServerRow, timelines } from '../database/timelines.ts';
import type { QueueTable } from './dispatcher.ts';
import { AMBIGUOUS_WAIT_SECONDS } from './queue-statements.ts';

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
  /** Time of the last commit of the old server that the new one has; `null` if it is not known. */
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
/**
 * A row that was created later than this after the last commit of the old server was created on the
 * new one.
 */
const CREATED_MARGIN_SECONDS = 1;
const ROWS_PER_STATEMENT = 2_000;

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

const SINCE = `select extract(epoch from pg_last_xact_replay_timestamp())::float8 as since`;

/**
 * Returns how many seconds are missing that a running worker wrote on the old server.
 * @param seen the worker's last heartbeat there, in seconds of the database's clock
 */
export async function lostSeconds(sql: Sql, seen: number | null): Promise<number> {
  const [row] = await sql.query<{ since: number | null }>(SINCE);
  return seen === null || !row?.since ? 0 : Math.max(0, seen - row.since);
}

interface RecordedTimeline {
  timeline: number | null;
  synchronous: boolean;
  now: Date;
  since: Date | null;
  name: string;
}

const LOCK = `
  select timeline, synchronous, now() as now, pg_last_xact_replay_timestamp() as since, place ->> 'name' as name
  from instance where id = 1 for update`;
const RECORD = 'update instance set timeline = $1, failover = coalesce($2, failover) where id = 1';

/**
 * Records the timeline of the database. If it is higher than the recorded one, rows that the old
 * server may have sent are marked first: they are looked up before they are sent. Of several
 * workers one does it; the others wait for it.
 * @param lost whether a commit is known to be missing (`lostSeconds`)
 * @returns the failover, or `null` if there was none, or if another worker has recorded it
 */
export function followTimeline(
  sql: SqlConnection,
  tables: readonly QueueTable[],
  to: number,
  lost: boolean,
): Promise<Failover | null> {
  return sql.transaction(async (inside) => {
    const [recorded] = await inside.query<RecordedTimeline>(LOCK);
    if (!recorded || recorded.timeline === to) return null;
    const { timeline: from, synchronous, now, since } = recorded;
    if (from === null || from > to) {
      await inside.query(RECORD, [to, null]);
      return null;
    }
    const safe = synchronous && !lost;
    const rows = safe ? 0 : await markRows(inside, tables, since);
    const at = now.toISOString();
    const failover = { from, to, at, since: since?.toISOString() ?? null, synchronous: safe, rows };
    await inside.query(RECORD, [to, JSON.stringify(failover)]);
    await recordAudit(inside, {
      actor: SYSTEM,
      action: 'instance.failed_over',
      target: { type: 'instance', id: recorded.name },
      details: { ...failover },
    });
    return failover;
  });
}

/** Describes a failover for operators. */
export function describeFailover({ from, to, at, since, synchronous, rows }: Failover): string {
  const begin = `the database failed over (timeline ${to} after ${from})`;
  if (synchronous) return `${begin}; nothing is missing, because a standby had every commit`;
  const seconds = since === null ? null : Math.ceil((Date.parse(at) - Date.parse(since)) / 1000);
  const missing =
    seconds === null
      ? 'what the old server wrote last may be missing'
      : `up to ${Math.max(0, seconds)} s may be missing (since ${since})`;
  return `${begin}; ${missing}; ${rows} due messages, reminders and changes are looked up before they are sent`;
}

/** @returns the number of marked rows */
async function markRows(
  sql: Sql,
  tables: readonly QueueTable[],
  since: Date | null,
): Promise<number> {
  let count = 0;
  for (const table of tables.filter(({ inertUntilHandOff }) => inertUntilHandOff)) {
    const [found] = await sql.query<{ ids: string[] }>(dueRows(table), [since]);
    const ids = found?.ids ?? [];
    for (let from = 0; from < ids.length; from += ROWS_PER_STATEMENT) {
      const marked = await sql.query(mark(table), [ids.slice(from, from + ROWS_PER_STATEMENT)]);
      count += marked.length;
    }
  }
  return count;
}

/** Rows that the old server may have sent. $1 its last commit that is known here, or null. */
const dueRows = ({ table, createdAt }: QueueTable): string => `
  select coalesce(array_agg(id order by id), '{}') as ids from (
    select id from ${table} where state = 0 and run_at <= now() + interval '${STRAGGLER_SECONDS} s'
    union all select id from ${table} where state <> 0) j
  where (${createdAt ?? 'null::timestamptz'} > $1::timestamptz + interval '${CREATED_MARGIN_SECONDS} s') is not true`;

/** Marks the rows $1. A message that has just left appears in the Sent folder with a delay. */
const mark = ({ table }: QueueTable): string => `
  update ${table} set ambiguous = true,
    run_at = case when state = 0 then greatest(run_at, now() + interval '${AMBIGUOUS_WAIT_SECONDS} s') else run_at end
  where id = any(array(select id from ${table} where id = any($1::uuid[]) and not ambiguous order by id for update))
  returning 1`;

const SYNCHRONOUS = 'update instance set synchronous = $1 where id = 1';

/** Records whether commits wait for a standby. The next server then knows it of this one. */
export async function recordSynchronous(sql: Sql, synchronous: boolean): Promise<void> {
  await sql.query(SYNCHRONOUS, [synchronous]);
}
