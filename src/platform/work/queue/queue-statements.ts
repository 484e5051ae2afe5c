import { SERVER_COLUMNS } from '../../database/health/timelines.ts';
import type { QueueTable, RowLoading } from './dispatcher.ts';
import { claimStatement, MOST_CRASHES } from './claim-statement.ts';
import { ROW_CLAIMED, ROW_WAITING } from './row-state.ts';

/*
 * SQL of one queue. The names come from `QueueTable` constants in our own code, never from input.
 */

/**
 * The statements of one queue. `handOff`, `load`, `finish`, `again` and `release` change a row only
 * if its fence is the given one, and if the given worker has claimed it. A server that was promoted
 * may lack the last claims, and then gives the same fences again (docs/adr/0127).
 */
export interface QueueStatements {
  /** See `claimStatement`. */
  claim: string;
  /** Commits hand-off markers. $1 ids, $2 fences, $3 worker. */
  handOff: string;
  /**
   * Loads what rows need to run, and commits hand-off markers. $1 ids, $2 fences, $3 worker, $4
   * whether each row may be handed off with it. Returns the loaded columns with `id` and
   * `handedOff`. `null` if the queue has no `loading`.
   */
  load: string | null;
  /**
   * Locks rows in the order of their ids. For a batch whose rows are written by two statements. $1
   * ids.
   */
  lock: string;
  /** Deletes rows that are done (`QueueTable.endsIf`). $1 ids, $2 fences, $3 workers. */
  finish: string;
  /**
   * Lets rows wait for their next attempt. $1 ids, $2 fences, $3 workers, $4 instants, $5 ambiguous
   * flags.
   */
  again: string;
  /**
   * Gives back rows whose runs had no effect. $1 ids, $2 fences, $3 workers, $4 milliseconds to
   * wait.
   */
  release: string;
  /**
   * Gives back rows that the database shows as claimed by this worker, but that have no run in its
   * process. $1 worker, $2 ids and $3 fences of its runs, $4 ids of rows for which a death is
   * counted. No death is counted for other rows, because the worker is alive.
   */
  reclaim: string;
  /**
   * Takes one death off the count of each row that this worker has claimed. Run it at an orderly
   * stop: other workers will give these rows back and count a death. $1 worker.
   */
  forgive: string;
}

/** Counters stop at this value: an overflow would fail every statement that includes the row. */
const MOST_COUNTED = 100;

const dueInMs = ({ table, unqueued = 'false' }: QueueTable) => `
  case when ${unqueued} then 0
    else (extract(epoch from (select run_at from ${table} where state = ${ROW_WAITING} order by run_at limit 1) - clock_timestamp()) * 1000)::float8 end`;

/*
 * Claimed rows are found by their ids. The statements are often planned while the queue is empty.
 * To the planner the queue then has one row, so a plan that reads the whole queue looks cheap, and
 * a burst would read it for each batch. So no statement joins the queue: the values of a row are
 * found by the position of its id (ADR 0004). The same holds for statements that run rarely: with
 * `id in (select …)`, `reclaim` read 20,000 due rows once for each row, for more than ten minutes.
 * `test/medium/engine-plans` checks the plans of all of them.
 *
 * Rows are locked in the order of their ids, as by code that removes an account or a webhook: the
 * engine's connections read the index of the ids in its order (ADR 0004).
 *
 * `state <> 0` means the same as `state = 1` here. With `= 1` the planner would read the whole
 * partial index of claimed rows, with all its dead entries, instead of the few ids.
 */
const POSITION = 'array_position($1::uuid[], j.id)';
const STILL_CLAIMED = `j.id = any($1::uuid[]) and j.fence = ($2::int[])[${POSITION}] and j.state <> ${ROW_WAITING}`;
const STILL_OURS = `${STILL_CLAIMED} and j.worker_id = ($3::int[])[${POSITION}]`;

/**
 * The rows that a statement settles. Other code also locks several rows of a permanent queue, in
 * the order of their ids. So they are locked in that order here, too: the order of an `update` is
 * the order of its plan.
 */
const settledRows = ({ table, permanent }: QueueTable): string =>
  permanent
    ? `j.id = any(array(select j.id from ${table} j where ${STILL_OURS} order by j.id for update))`
    : STILL_OURS;

/**
 * Builds the statements of one queue. Each text is constant, so each connection prepares it once.
 */
export function queueStatements(queue: QueueTable, reportsLate = false): QueueStatements {
  const { table, permanent, loading, attemptAssumedColumn, endsIf = 'true' } = queue;
  const settled = settledRows(queue);
  // From now on an attempt is known.
  const handedOff = `handoff_at = clock_timestamp()${attemptAssumedColumn ? `, ${attemptAssumedColumn} = false` : ''}`;
  return {
    claim: claimStatement(queue, reportsLate),
    handOff: `
      update ${table} j set ${handedOff} where ${STILL_CLAIMED} and j.worker_id = $3
      returning j.id`,
    load: loading ? loadStatement(table, loading) : null,
    lock: `select from ${table} where id = any($1::uuid[]) order by id for update`,
    finish: `delete from ${table} j where ${settled} and ${endsIf} returning j.id`,
    again: `
      update ${table} j
      set state = ${ROW_WAITING}, worker_id = null, handoff_at = null, ambiguous = ($5::boolean[])[${POSITION}], crashes = 0,
          run_at = greatest(($4::timestamptz[])[${POSITION}], now())${permanent ? ', attempt = 0' : ''}
      where ${settled}
      returning j.id`,
    release: `
      update ${table} j
      set state = ${ROW_WAITING}, worker_id = null, handoff_at = null, attempt = greatest(attempt - 1, 0),
          run_at = now() + $4 * interval '1 ms'
      where ${settled}
      returning j.id`,
    reclaim: giveBack(
      table,
      `j.worker_id = $1 and (j.fence = ($3::int[])[array_position($2::uuid[], j.id)]) is not true`,
      {
        crashes: `crashes + case when id = any($4::uuid[]) then 1 else 0 end`,
        // The cause that kept the result from being written may still exist, so the row waits
        // longer each time, up to 60 s.
        waitSeconds: 'least(power(2, least(fence, 10)), 60)',
      },
    ),
    forgive: `
      update ${table} set crashes = crashes - 1
      where id = any(array(select id from ${table} where worker_id = $1 and state = ${ROW_CLAIMED} order by id for update))`,
  };
}

/**
 * Builds one statement, so that the loaded values are those at the time of the hand-off. It also
 * loads rows that no longer belong to this worker. Otherwise they would load nothing, and a
 * dispatcher ends a row that loads nothing.
 */
function loadStatement(table: string, { columns, joins, ready }: RowLoading): string {
  return `
    with claimed as materialized (select * from ${table} where id = any($1::uuid[])),
    loaded as materialized (
      select j.id, ${columns}, ($4::boolean[])[${POSITION}] and ${ready} as goes from claimed j ${joins}),
    handed as (
      update ${table} j set handoff_at = clock_timestamp()
      where j.id = any(array(select id from loaded where goes)) and j.fence = ($2::int[])[${POSITION}] and j.state <> ${ROW_WAITING} and j.worker_id = $3
      returning j.id)
    select loaded.*, id in (select id from handed) as "handedOff" from loaded`;
}

/** A worker without a heartbeat for this long is dead, and its claims are given back. */
export const DEAD_AFTER_SECONDS = 8;

/**
 * How long a row that may have taken effect waits before its look-up: a sent message appears in the
 * Sent folder with a delay.
 */
export const AMBIGUOUS_WAIT_SECONDS = 15;

/**
 * Minimum wait of a row after the second death of its worker; a random part makes the wait up to
 * twice as long. The row then runs apart from other rows.
 */
const SUSPECT_WAIT_SECONDS = 10;

/**
 * A worker without a heartbeat for this long is probably dead. `BLAME` uses this time to find
 * workers that died together.
 */
const SILENT_SECONDS = 2.5;

/** Whether the worker of a row has only moved to the present server of the database. */
const HAS_MOVED = 'worker_id = any(array(select id from worker where moved_at is not null))';

/**
 * How the death of a worker changes a row that it had claimed. The third death counts only if no
 * other worker fell silent at about the same time. A row with two deaths runs alone in all
 * processes, so it can kill only one worker; if several died together, the cause was something
 * else.
 */
const BLAME = {
  crashes: `case
    when ${HAS_MOVED} then crashes
    when crashes = ${MOST_CRASHES - 1} and exists (
      select 1 from worker w where w.id <> worker_id and w.seen_at < now() - interval '${SILENT_SECONDS} s')
    then crashes else crashes + 1 end`,
  waitSeconds: `case when crashes < 1 then 0 else ${SUSPECT_WAIT_SECONDS} * (1 + random()) end`,
};

/**
 * Builds a statement that gives claimed rows back, for example after the death of their worker. If
 * a row has no hand-off marker, its attempt does not count. A row with a marker becomes
 * `ambiguous`: it waits at least 15 s, and its next attempt must first find out whether the earlier
 * one took effect. Rows that another transaction is settling are skipped: either their worker is
 * alive after all, or the next sweep finds them.
 */
function giveBack(
  table: string,
  condition: string,
  blame: { crashes: string; waitSeconds: string },
): string {
  return `
  update ${table} j
  set state = ${ROW_WAITING}, worker_id = null, crashes = least(${blame.crashes}, ${MOST_COUNTED}), handoff_at = null,
      ambiguous = ambiguous or handoff_at is not null,
      attempt = case when handoff_at is null then greatest(attempt - 1, 0) else attempt end,
      run_at = now() + interval '1 s' * case when handoff_at is null then ${blame.waitSeconds}
                                             else greatest(${AMBIGUOUS_WAIT_SECONDS}, ${blame.waitSeconds}) end
  where j.id = any(array(select j.id from ${table} j where j.state = ${ROW_CLAIMED} and ${condition} for update skip locked))
  returning 1`;
}

/** First key of the advisory locks that living workers hold. The second key is the worker's id. */
export const WORKER_LOCKS = 727_004;

/**
 * Workers other than $1 that have lost their connection. Each worker holds an advisory lock on its
 * heartbeat's connection, which ends with its process. A worker that is still alive takes the lock
 * again with its next connection.
 */
const DISCONNECTED = `
  disconnected as materialized (
    select w.id, w.seen_at from worker w where w.id <> $1 and pg_try_advisory_xact_lock_shared(${WORKER_LOCKS}, w.id))`;

/**
 * Rows that disconnected workers have claimed but not handed off. Rows with an earlier death are
 * left to the sweep, which knows how many workers died at the same time. A restart of PostgreSQL
 * disconnects workers that live: what these have begun is not repeated for that.
 */
const unbegun = ({ repeatable }: QueueTable) => `
  j.worker_id = any(array(select id from disconnected${repeatable ? ' where seen_at > pg_postmaster_start_time()' : ''}))
  and j.handoff_at is null and j.crashes < 1`;

const harmless = (tables: readonly QueueTable[]) =>
  tables.filter(({ noEffectBeforeHandOff, repeatable }) => noEffectBeforeHandOff || repeatable);

/**
 * A claimed row whose worker is no longer listed in `worker`. A sweep skipped the row, because a
 * transaction of the dying worker still had it locked.
 */
const ORPHANED = '(j.worker_id = any(array(select id from worker))) is not true';

/**
 * Builds the statement that gives back the rows of dead workers and of workers that are no longer
 * listed, over all queues. Any number of processes may run it. $1 whether the worker that asks may
 * declare others dead. A worker whose process has moved is removed in the same way, but counts as
 * no death.
 */
export function sweepStatement(tables: readonly QueueTable[]): string {
  // Compares with the ids that were just deleted, and not with the time: a worker that has just
  // sent a heartbeat again keeps its claims.
  const dead = `(j.worker_id = any(array(select id from dead union all select id from moved)) or ${ORPHANED})`;
  const parts = tables.map(({ table }, index) => `q${index} as (${giveBack(table, dead, BLAME)})`);
  const claims = tables.map(
    ({ table }) => `exists (select from ${table} j where j.state = 1 and j.worker_id = w.id)`,
  );
  const silent = `$1 and w.seen_at < now() - interval '${DEAD_AFTER_SECONDS} s'`;
  // One that has moved stays listed while it has claims: without it, a row that a transaction held
  // during this sweep would count as orphaned, and its move as a crash.
  return `with moved as materialized (select w.id from worker w where ${silent} and w.moved_at is not null),
    dead as (
      delete from worker w
      where ${silent} and case when w.moved_at is null then true else not (${claims.join(' or ')}) end returning *),
    died as (select id, host, pid, started_at, seen_at from dead where moved_at is null),
    lost as (insert into lost_worker (id, host, pid, started_at, seen_at) select * from died),
    ${parts.join(',\n')}
    select (select count(*) from died)::int as dead,
           (select string_agg(format('process %s on %s', pid, host), ', ') from died) as processes,
           (${tables.map((_, index) => `(select count(*) from q${index})`).join(' + ')})::int as rows`;
}

/**
 * Builds the statement that gives back rows of disconnected workers that were not handed off, over
 * all queues where that is harmless ($1: the worker that asks). It returns the number of rows for
 * each queue.
 * @returns null if no queue allows it
 */
export function rescueStatement(tables: readonly QueueTable[]): string | null {
  const parts = harmless(tables).map(
    (table, index) => `q${index} as (${giveBack(table.table, unbegun(table), BLAME)})`,
  );
  if (parts.length === 0) return null;
  const names = harmless(tables).map(
    ({ queue }, index) => `select '${queue}' as queue, count(*)::int as rows from q${index}`,
  );
  return `with ${[DISCONNECTED, ...parts].join(',\n')} ${names.join(' union all ')}`;
}

/**
 * A worker that is late with its heartbeat by more than half of its interval does not keep others
 * from leading.
 */
const LEADER_SEEN_SECONDS = 1.5;

/**
 * The leader looks at the claimed rows of all workers: that is too much for every heartbeat of
 * every worker (ADR 0097). The leader is the connected worker with the lowest id that has just sent
 * a heartbeat. If several workers consider themselves the leader, or for a moment none does, no
 * harm is done.
 */
const LEADS = `
  leader as materialized (
    select not exists (
      select 1 from worker w
      where w.id < $1 and w.seen_at > now() - interval '${LEADER_SEEN_SECONDS} s'
        and w.id <> all(array(select id from disconnected))) as leads)`;

/** Rows that become due within ten seconds were marked then (`markStragglers`). */
const STRAGGLERS_EVERY_SECONDS = 3;
/** Condition on `instance`: whether it is time to mark stragglers again. */
export const STRAGGLERS_DUE = `stragglers_marked_at < now() - interval '${STRAGGLERS_EVERY_SECONDS} s'`;

/** Whether a commit is confirmed only after a standby has it. */
const SYNCHRONOUS = `
  (current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') not in ('off', 'local'))`;

/**
 * Builds the heartbeat statement ($1 worker). In one round trip it also reads `alive`, the fields
 * of `HeartbeatResult`, `dead`, `orphaned`, `disconnected`, `stragglers`, and milliseconds until
 * the next due row of each queue. `dead` means that a worker sends no heartbeats any more. Only the
 * leader reads claimed rows: `orphaned` means that some belong to workers that are no longer
 * listed, and `disconnected` that there are rows of disconnected workers to give back.
 * @param showsServer false if the server refuses to show `SERVER_COLUMNS`
 */
export function beatStatement(tables: readonly QueueTable[], showsServer = true): string {
  const next = tables.map((table) => `${dueInMs(table)} as "${table.queue}"`);
  const orphans = tables.map(
    ({ table }) =>
      `exists (select 1 from ${table} j where j.state = ${ROW_CLAIMED} and ${ORPHANED})`,
  );
  const toRescue = harmless(tables).map(
    (table) =>
      `exists (select 1 from ${table.table} j where j.state = ${ROW_CLAIMED} and ${unbegun(table)})`,
  );
  // CASE, because AND may evaluate its expensive side first.
  const byLeader = (found: readonly string[]) =>
    `case when (select leads from leader) then ${['false', ...found].join(' or ')} else false end`;
  return `with held as (select id, seen_at from worker where id = $1 for update),
    beat as (
      update worker w set seen_at = now() from held where w.id = held.id
      returning extract(epoch from held.seen_at)::float8 as before, extract(epoch from w.seen_at)::float8 as seen),
    ${DISCONNECTED}, ${LEADS}
    select (select count(*) from beat)::int as alive, (select before from beat), (select seen from beat),
           pg_backend_pid() as backend, (select place ->> 'doubt' from instance where id = 1) as doubt,
           ${showsServer ? `${SERVER_COLUMNS},` : ''}
           ${SYNCHRONOUS} as synchronous, (select synchronous from instance where id = 1) as "wasSynchronous",
           exists (select from instance where standby_seen_at > now() - interval '1 day') as "standbyRecorded",
           exists (select from instance where ${STRAGGLERS_DUE}) as stragglers,
           exists (select 1 from worker where seen_at < now() - interval '${DEAD_AFTER_SECONDS} s') as dead,
           ${byLeader(orphans)} as orphaned,
           case when exists (select 1 from disconnected) then ${byLeader(toRescue)} else false end as disconnected,
           ${next.join(', ')}`;
}
