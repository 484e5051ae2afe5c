import type { QueueTable } from './dispatcher.ts';
import { ROW_CLAIMED, ROW_WAITING } from './row-state.ts';

/*
 * The claim of one queue. The names come from `QueueTable` constants in our own code, never from
 * input.
 *
 * The claim reads the oldest due rows in the order of one partial index, `(run_at) where state =
 * 0`, and locks them with SKIP LOCKED. For each rate gate (account or webhook) it takes only as
 * many of these rows as the gate's concurrency and circuit breaker allow. It parks each other row:
 * the row gets a later time of its own, one interval of the gate after the row before it. So a row
 * is moved once and not by every claim, and one account with very many rows delays no other
 * account.
 *
 * A claim takes fewer rows than there are free slots in these cases:
 *
 * - Fewer rows are due, or another transaction has locked some of them.
 * - The claim reads only a limited number of rows, and rate gates let too few of them in.
 * - Some of the rows are suspects that have to wait.
 *
 * `claim-statement.sql` is the whole statement of the queue `send`, with a worked example.
 *
 * `materialized` is required: without it the planner may run the LIMIT subquery twice and update
 * more rows than LIMIT.
 */

/** What `claim` reports besides the rows that it took. */
export interface ClaimSummary {
  /**
   * `seen`: number of oldest due rows that this claim has read. `parked`: how many of them it moved
   * to later slots. `lowestMs`: due time of the earliest row that it has read, in milliseconds
   * since 1970; `null` if there was none.
   */
  seen: number;
  parked: number;
  lowestMs: number | null;
  /**
   * Milliseconds until the next waiting row is due, including rows that this claim parked; `null`
   * if no row waits.
   */
  nextMs: number | null;
  /**
   * Whether the claim missed a due row: another transaction has locked the row, or it lies below
   * the scan floor.
   */
  passedOver: boolean;
  /**
   * Rows that this claim made late: they now wait until more than a minute after their promised
   * time, and did not before. `null` if there are none.
   */
  late: { id: string; reason: string }[] | null;
}

/** A row as `claim` returns it. If no row was taken, there is one row without an id. */
export interface ClaimResultRow {
  /** Set on the first row, `null` on the others. */
  summary: ClaimSummary | null;
  id: string | null;
  fence: number;
  attempt: number;
  ambiguous: boolean;
  gateId: string;
  dueAt: Date;
  gateFailures: number;
  /** Whether its rate gate has had trouble since a run last reported `well` (`RateGateSignal`). */
  gateMarked: boolean;
  crashes: number;
  /** Seconds since the promised time. */
  lateSeconds: number;
}

/** Maximum number of rows that one claim takes. */
export const MOST_PER_CLAIM = 100;
/** Counters stop at this value: an overflow would fail every claim that includes the row. */
const MOST_ATTEMPTS = 30_000;
/** How long the other rows wait while the circuit breaker is testing with one row. */
const TESTING_WAIT_MS = 2_000;
/** A row that is later than promised by more than this is reported to its dispatcher. */
const LATE_SECONDS = 60;

/*
 * Queue rows (`j`) are found by `id = any(…)`, and their values by the position of the id in an
 * array. The ids are known by then (`rows`, materialized). Finding a value by position takes longer
 * the more rows there are, so the summary uses the values it already has and does not read locked
 * rows again.
 *
 * A join would be shorter, but the statement is often planned while its queue is empty. To the
 * planner the queue then has one row, so the join begins there and reads the whole queue for every
 * claim of a burst. With a join and `id = any(…)` together, the plan goes through the whole list of
 * ids once for each id (ADR 0004).
 */
const ids = (rows: string) => `array(select id from ${rows})`;
const among = (rows: string) => `j.id = any(${ids(rows)})`;
const its = (column: string, rows: string) =>
  `(array(select ${column} from ${rows}))[array_position(${ids(rows)}, j.id)]`;

/**
 * A row with this many deaths of its worker fails without another run (`onPoison`). A row with
 * fewer deaths, but at least one, is a suspect.
 */
export const MOST_CRASHES = 3;
/**
 * How many suspects with one death run at a time in a process. A suspect with two deaths is in
 * quarantine: no other such row runs in any process.
 */
export const FIRST_SUSPECTS = 8;

const SUSPECT = `r.crashes between 1 and ${MOST_CRASHES - 1}`;

/**
 * The oldest due rows and, after a claim that had to move many of them to later slots, also the
 * newest. Rows of other rate gates become due behind such a crowd, and would wait until all of it
 * has been moved. Newest rows that do not fit stay where they are (`ahead`).
 */
function dueRows({ table, gateColumn, deadlineColumn }: QueueTable): string {
  const due = `select id, ${gateColumn} as gate, run_at, due_at, crashes,
          ${deadlineColumn ?? 'null::timestamptz'} as deadline, ${deadlineColumn ? `${deadlineColumn} <= now()` : 'false'} as urgent
        from ${table}
        where state = ${ROW_WAITING} and run_at <= now() and run_at >= $3`;
  return `
      oldest as materialized (
        ${due} order by run_at limit $4 for update skip locked),
      newest as materialized (
        ${due} and id <> all(${ids('oldest')}) order by run_at desc limit $7 for update skip locked),
      due_rows as materialized (
        select *, false as ahead from oldest union all select *, true from newest)`;
}

/**
 * For each rate gate: at most `max_in_flight` rows, `let_in` rows that its circuit breaker lets in,
 * and `wait_ms`, the delay for rows that the breaker turned away. A stopped breaker lets in no row,
 * and a testing one lets in one row at a time until one reports `well`.
 *
 * A run that has ended, but whose result is not written yet, does not count for `max_in_flight`.
 * It does count for `let_in`, because its result may be the one that stops the breaker.
 */
function gates({ table, gateColumn, breaker, paceMs }: QueueTable): string {
  const stoppedFor = `extract(epoch from g.closed_until - now()) * 1000`;
  return `
      gates as materialized (
        select d.gate, coalesce(g.max_in_flight, 8) as max_in_flight, ${paceMs ?? 'coalesce(g.slot_ms, 50)'} as slot_ms,
          ${breaker ? 'coalesce(greatest(g.failures, case when g.closed_until is not null then 1 end), 0)' : '0'} as failures,
          ${breaker ? 'g.failures > 0 or g.closed_until is not null' : 'false'} as marked,
          ${breaker ? `case when g.closed_until > now() then 0 when g.closed_until <= now() then 1 else 32767 end` : '32767'} as let_in,
          ${breaker ? `case when g.closed_until is null then 0 else greatest(${stoppedFor}, ${TESTING_WAIT_MS}) end` : '0'} as wait_ms,
          ${breaker ? 'case when g.closed_until is not null then g.close_reason end' : 'null'} as reason, claimed.running, claimed.ended
        from (select distinct gate from due_rows) d left join account_gate g on g.account_id = d.gate
        cross join lateral (
          select count(*) filter (where b.id <> all($6::uuid[])) as running, count(*) filter (where b.id = any($6::uuid[])) as ended
          from ${table} b where b.${gateColumn} = d.gate and b.state = ${ROW_CLAIMED}) claimed)`;
}

/**
 * `fits`: the rate gate lets the row in. The circuit breaker does not delay a row that has reached
 * its own deadline. `cleared`: the row is no suspect, or it is a suspect that may run now.
 */
function ranking({ table }: QueueTable): string {
  const second = `(select exists (select 1 from ${table} b where b.state = ${ROW_CLAIMED} and b.crashes = ${MOST_CRASHES - 1}))`;
  return `
      ranked as materialized (
        select r.*, g.max_in_flight, g.slot_ms, g.failures, g.marked, g.let_in, g.wait_ms, g.reason, g.ended,
          g.running + row_number() over (partition by r.gate order by r.urgent desc, r.run_at, r.id) as nth_in_flight,
          case when ${SUSPECT} then row_number() over (partition by r.crashes order by r.run_at, r.id) else 0 end as nth_suspect
        from due_rows r join gates g using (gate)),
      decided as materialized (
        select r.*, r.nth_in_flight <= r.max_in_flight and (r.urgent or r.nth_in_flight + r.ended <= r.let_in) as fits,
          case when not ${SUSPECT} then true
               when r.crashes = 1 then r.nth_suspect <= $5
               else r.nth_suspect = 1 and not ${second} end as cleared
        from ranked r),
      admitted as materialized (
        select id, failures, marked from decided where fits and cleared order by nth_in_flight, run_at limit $1)`;
}

/**
 * Parks rows that their rate gate does not let in: they move to later slots at the gate's pace.
 * Rows that the circuit breaker turned away wait longer, but never beyond their own deadline.
 * Suspects that may not run yet get a slot soon.
 */
function parking({ table, paceMs }: QueueTable): string {
  const perGate = 'select distinct gate, in_all, slot_ms from turned_away';
  // A queue with a pace of its own does not change the rate gate: its slots begin now.
  const pace = paceMs
    ? `select gate as account_id, now() + in_all * slot_ms * interval '1 ms' as next_slot from (${perGate}) s`
    : `
        insert into account_gate as g (account_id, next_slot, slot_ms)
        select gate, now() + in_all * slot_ms * interval '1 ms', slot_ms from (${perGate}) s order by gate
        on conflict (account_id) do update
          set next_slot = greatest(g.next_slot, now()) + (excluded.next_slot - now())
        returning account_id, next_slot`;
  return `
      turned_away as (
        select id, gate, run_at, due_at, deadline, slot_ms, reason, case when urgent then 0 else wait_ms end as wait_ms,
          row_number() over (partition by gate order by run_at, id) as nth, count(*) over (partition by gate) as in_all
        from decided where not fits and not ahead),
      pace as (${pace}),
      parked as materialized (
        select s.id, s.run_at as old_run_at, s.due_at, s.reason,
          least(p.next_slot + (s.wait_ms - (s.in_all - s.nth) * s.slot_ms) * interval '1 ms',
                case when s.deadline > now() then s.deadline end) as new_run_at
        from turned_away s join pace p on p.account_id = s.gate),
      park_rows as (update ${table} j set run_at = ${its('new_run_at', 'parked')} where ${among('parked')}),
      later_suspects as materialized (
        select id, now() + case when crashes = 1 then interval '50 ms' else interval '500 ms' end
                           * ceil(nth_suspect / case when crashes = 1 then ${FIRST_SUSPECTS}.0 else 1 end) as new_run_at
        from decided where fits and not cleared and not ahead),
      park_suspects as (update ${table} j set run_at = ${its('new_run_at', 'later_suspects')} where ${among('later_suspects')})`;
}

const LATE_ROWS = `
    (select json_agg(json_build_object('id', id, 'reason', coalesce(reason, 'waiting for the account''s sending pace')))
     from parked where new_run_at > due_at + interval '${LATE_SECONDS} s' and old_run_at <= due_at + interval '${LATE_SECONDS} s')`;

/** Builds the JSON of a `ClaimSummary`. */
function summary({ table }: QueueTable, reportsLate: boolean): string {
  const waiting = `from ${table} where state = ${ROW_WAITING} and run_at`;
  return `
      json_build_object(
        'seen', (select count(*) from oldest),
        'parked', (select count(*) from parked) + (select count(*) from later_suspects),
        'lowestMs', (select floor(extract(epoch from min(run_at)) * 1000) from oldest),
        'nextMs', extract(epoch from least(
          (select run_at ${waiting} > now() order by run_at limit 1),
          (select min(new_run_at) from parked), (select min(new_run_at) from later_suspects)) - now()) * 1000,
        'passedOver', exists (
          select 1 from (select id ${waiting} <= now() order by run_at limit 1) first
          where not exists (select 1 from oldest where oldest.id = first.id)),
        'late', ${reportsLate ? LATE_ROWS : 'null'})`;
}

/**
 * Builds the claim statement, which returns at least one row. Its parameters:
 *
 * - $1 free slots, $2 worker, $3 scan floor
 * - $4 maximum number of oldest rows to read, $7 of newest rows
 * - $5 how many suspects with one death may be taken
 * - $6 ids of claimed rows whose runs have ended
 *
 * @param reportsLate whether the summary includes `late`
 */
export function claimStatement(queue: QueueTable, reportsLate: boolean): string {
  const { table, gateColumn, columns, claimSets } = queue;
  const extra = Object.entries(columns)
    .map(([property, column]) => `, j.${column} as "${property}"`)
    .join('');
  return `
      with ${[dueRows, gates, ranking, parking].map((part) => part(queue)).join(',')},
      taken as (
        update ${table} j
        set state = ${ROW_CLAIMED}, attempt = least(attempt + 1, ${MOST_ATTEMPTS}), fence = fence + 1, worker_id = $2, handoff_at = null${claimSets ? `, ${claimSets}` : ''}
        where ${among('admitted')}
        returning j.id, j.fence, j.attempt, j.ambiguous, j.${gateColumn} as "gateId", j.due_at as "dueAt",
          extract(epoch from clock_timestamp() - j.due_at)::float8 as "lateSeconds",
          ${its('failures', 'admitted')} as "gateFailures", ${its('marked', 'admitted')} as "gateMarked", j.crashes${extra})
      select case when row_number() over () = 1 then ${summary(queue, reportsLate)} end as summary, taken.*
      from (select) one
      left join taken on true`;
}
