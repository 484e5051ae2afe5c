import type { QueueTable, RowLoading } from './dispatcher.ts';
import { claimStatement, MOST_CRASHES } from './claim-statement.ts';

/* SQL of one queue. The names come from `QueueTable` constants in our own code, never from input. */

/** Statements of one queue. */
export interface QueueStatements {
  /** See `claimStatement`. */
  claim: string;
  /** $1 ids, $2 fences, $3 worker. */
  handOff: string;
  /**
   * $1 ids, $2 fences, $3 worker, $4 whether each may be handed off with it: what the rows need to be run, with `id` and
   * `handedOff`. Null: the queue has no `loading`.
   */
  load: string | null;
  /** $1 ids, $2 fences. */
  finish: string;
  /** $1 ids, $2 fences, $3 instants, $4 ambiguous flags. */
  again: string;
  /** $1 ids, $2 fences, $3 milliseconds to wait: gives back rows whose run had no effect. */
  release: string;
  /**
   * $1 worker, $2 ids and $3 fences in hand, $4 ids to blame: gives back what this worker holds in the database but
   * not in hand. The worker lives, so nobody else is blamed.
   */
  reclaim: string;
  /** $1 worker: what it holds at an orderly stop will be given back by others; that is no death to be counted. */
  forgive: string;
}

/** Counters stop here: one that overflows would fail every statement it is part of. */
const MOST_COUNTED = 100;

const dueInMs = (table: string) =>
  `(extract(epoch from (select run_at from ${table} where state = 0 order by run_at limit 1) - clock_timestamp()) * 1000)::float8`;

/*
 * Rows in hand are found by their ids. A queue that is empty while its statements are planned looks like one row to the planner,
 * and reading all of it is as good as anything: a burst would then read the whole queue for each batch. So there is no
 * join that could begin at the queue; what belongs to a row is found by its place among the ids.
 *
 * `state <> 0` and not `= 1`, which means the same: with that the planner takes the small partial index of claimed rows and
 * reads all of it, the dead entries too, instead of the few ids.
 */
const PLACE = 'array_position($1::uuid[], j.id)';
const IN_HAND = `j.id = any($1::uuid[]) and j.fence = ($2::int[])[${PLACE}] and j.state <> 0`;

/** Builds the statements of one queue; each text is constant, so each is prepared once per connection. */
export function queueStatements(queue: QueueTable, tellsLate = false): QueueStatements {
  const { table, permanent, loading } = queue;
  return {
    claim: claimStatement(queue, tellsLate),
    handOff: `
      update ${table} j set handoff_at = clock_timestamp() where ${IN_HAND} and j.worker_id = $3
      returning j.id`,
    load: loading ? loadStatement(table, loading) : null,
    finish: `delete from ${table} j where ${IN_HAND} returning j.id`,
    again: `
      update ${table} j
      set state = 0, worker_id = null, handoff_at = null, ambiguous = ($4::boolean[])[${PLACE}], crashes = 0,
          run_at = greatest(($3::timestamptz[])[${PLACE}], now())${permanent ? ', attempt = 0' : ''}
      where ${IN_HAND}
      returning j.id`,
    release: `
      update ${table} j
      set state = 0, worker_id = null, handoff_at = null, attempt = greatest(attempt - 1, 0),
          run_at = now() + $3 * interval '1 ms'
      where ${IN_HAND}
      returning j.id`,
    reclaim: giveBack(
      table,
      `j.worker_id = $1
       and not exists (select 1 from unnest($2::uuid[], $3::int[]) x(id, fence) where x.id = j.id and x.fence = j.fence)`,
      {
        crashes: `crashes + case when id = any($4::uuid[]) then 1 else 0 end`,
        // Whatever kept the result of such a row from being written may be with us still: later and later.
        waitSeconds: 'least(power(2, least(fence, 10)), 60)',
      },
    ),
    forgive: `update ${table} set crashes = crashes - 1 where worker_id = $1 and state = 1`,
  };
}

/**
 * One statement, so that what is read is what there was when the row was handed off. A row that is not ours any more is read all
 * the same: that there is nothing to be loaded ends a row, and this one has not ended.
 */
function loadStatement(table: string, { columns, joins, ready }: RowLoading): string {
  return `
    with claimed as materialized (select * from ${table} where id = any($1::uuid[])),
    loaded as materialized (
      select j.id, ${columns}, ($4::boolean[])[${PLACE}] and ${ready} as goes from claimed j ${joins}),
    handed as (
      update ${table} j set handoff_at = clock_timestamp()
      where j.id = any(array(select id from loaded where goes)) and j.fence = ($2::int[])[${PLACE}] and j.state <> 0 and j.worker_id = $3
      returning j.id)
    select loaded.*, id in (select id from handed) as "handedOff" from loaded`;
}

/** How long a worker may be silent before its claims are given back. */
export const DEAD_AFTER_SECONDS = 8;

/** How long a row that may have taken effect waits before anybody looks: views of sent mail lag. */
const AMBIGUOUS_WAIT_SECONDS = 15;

/** Rows in hand at a second death wait so long, to be alone with what kills them. */
const SUSPECT_WAIT_SECONDS = 10;

/** Silent for so long, a worker is probably dead too. */
const SILENT_SECONDS = 2.5;

/**
 * What a death says about a row that was in hand. The third counts only when no other worker fell silent at about the
 * same time: then it is not this row that kills them. Such a row runs alone in all processes, so what it kills
 * itself dies alone.
 */
const BLAME = {
  crashes: `case
    when crashes = ${MOST_CRASHES - 1} and exists (
      select 1 from worker w where w.id <> worker_id and w.seen_at < now() - interval '${SILENT_SECONDS} s')
    then crashes else crashes + 1 end`,
  waitSeconds: `case when crashes < 1 then 0 else ${SUSPECT_WAIT_SECONDS} * (1 + random()) end`,
};

/**
 * An attempt that had no effect does not count. Rows that somebody is just settling are passed over: their holder is
 * alive after all, or the next sweep finds them.
 */
function giveBack(
  table: string,
  condition: string,
  blame: { crashes: string; waitSeconds: string },
): string {
  return `
  update ${table} j
  set state = 0, worker_id = null, crashes = least(${blame.crashes}, ${MOST_COUNTED}), handoff_at = null,
      ambiguous = ambiguous or handoff_at is not null,
      attempt = case when handoff_at is null then greatest(attempt - 1, 0) else attempt end,
      run_at = now() + interval '1 s' * case when handoff_at is null then ${blame.waitSeconds}
                                             else greatest(${AMBIGUOUS_WAIT_SECONDS}, ${blame.waitSeconds}) end
  where j.id in (select j.id from ${table} j where j.state = 1 and ${condition} for update skip locked)
  returning 1`;
}

/** First key of the advisory locks that living workers hold; the second is their number. */
export const WORKER_LOCKS = 727_004;

/**
 * Workers whose connection is gone, $1 left out: each holds a lock as long as its heartbeat's connection lasts, which ends with its
 * process. One that lives all the same has lost the connection, and takes the lock with its next one.
 */
const ADRIFT = `
  adrift as materialized (
    select w.id from worker w where w.id <> $1 and pg_try_advisory_xact_lock_shared(${WORKER_LOCKS}, w.id))`;

/**
 * What they held without effect. Rows that have seen a death before are left to the sweep, which can tell how many died at
 * the same time.
 */
const UNBEGUN = 'j.worker_id in (select id from adrift) and j.handoff_at is null and j.crashes < 1';

const inert = (tables: readonly QueueTable[]) =>
  tables.filter(({ inertUntilHandOff }) => inertUntilHandOff);

/** A claim whose worker is not known at all: what a dying worker had locked when it was given up. */
const ORPHANED = 'not exists (select 1 from worker w where w.id = j.worker_id)';

/** Gives back what dead workers held, over all queues in one statement; any number of processes may run it. */
export function sweepStatement(tables: readonly QueueTable[]): string {
  // By the names that were deleted, and not by their time: who has just come back keeps what it holds.
  const dead = `(j.worker_id in (select id from dead) or ${ORPHANED})`;
  const parts = tables.map(({ table }, index) => `q${index} as (${giveBack(table, dead, BLAME)})`);
  return `with dead as (delete from worker where seen_at < now() - interval '${DEAD_AFTER_SECONDS} s' returning id),
    ${parts.join(',\n')}
    select (select count(*) from dead)::int as dead,
           (${tables.map((_, index) => `(select count(*) from q${index})`).join(' + ')})::int as rows`;
}

/**
 * Gives back what the lost connections of workers leave behind before its hand-off ($1 worker that asks), over all queues where
 * that is harmless: the names of those where there was any. Null when no queue is like that.
 */
export function rescueStatement(tables: readonly QueueTable[]): string | null {
  const parts = inert(tables).map(
    ({ table }, index) => `q${index} as (${giveBack(table, UNBEGUN, BLAME)})`,
  );
  if (parts.length === 0) return null;
  const names = inert(tables).map(
    ({ queue }, index) => `select '${queue}' as queue, count(*)::int as rows from q${index}`,
  );
  return `with ${[ADRIFT, ...parts].join(',\n')} ${names.join(' union all ')}`;
}

/**
 * Heartbeat ($1 worker) and, in the same round trip, milliseconds until the next due row of each queue and what
 * `InstanceGuard` compares, and whether there is anything to sweep or to rescue: `alive`, a `Pulse`, `stale` and `adrift`.
 */
export function beatStatement(tables: readonly QueueTable[]): string {
  const next = tables.map(({ queue, table }) => `${dueInMs(table)} as "${queue}"`);
  const orphans = tables.map(
    ({ table }) => `exists (select 1 from ${table} j where j.state = 1 and ${ORPHANED})`,
  );
  const unbegun = inert(tables).map(
    ({ table }) => `exists (select 1 from ${table} j where j.state = 1 and ${UNBEGUN})`,
  );
  const dead = `exists (select 1 from worker where seen_at < now() - interval '${DEAD_AFTER_SECONDS} s')`;
  return `with held as (select id, seen_at from worker where id = $1 for update),
    beat as (
      update worker w set seen_at = now() from held where w.id = held.id
      returning extract(epoch from held.seen_at)::float8 as before, extract(epoch from w.seen_at)::float8 as seen),
    ${ADRIFT}
    select (select count(*) from beat)::int as alive, (select before from beat), (select seen from beat),
           pg_backend_pid() as backend, (select place ->> 'doubt' from instance where id = 1) as doubt,
           ${[dead, ...orphans].join(' or ')} as stale, ${['false', ...unbegun].join(' or ')} as adrift,
           ${next.join(', ')}`;
}
