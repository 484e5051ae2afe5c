import type { QueueTable } from './dispatcher.ts';

/*
 * The claim of one queue. The names come from `QueueTable` constants in our own code, never from input.
 *
 * One partial index `(run_at) where state = 0` in claim order. Candidates are locked with SKIP LOCKED; of each gate
 * (account, webhook) only as many are taken as its concurrency and its breaker allow, and each surplus row is moved
 * once to its own later slot (pacing by GCRA), so that one account with very many rows delays nobody. `materialized`
 * is not decoration: without it the planner may run the LIMIT subquery twice and update more rows than LIMIT.
 */

/** What `claim` says besides the rows it took. */
export interface ClaimSummary {
  /** Candidates seen and parked by this claim, and the earliest candidate (milliseconds since 1970); null: none. */
  seen: number;
  parked: number;
  lowestMs: number | null;
  /** Milliseconds until the next row is due that waits now or has been parked by this claim; null: none. */
  nextMs: number | null;
  /** Whether a due row was not among the candidates although its turn had come: it is locked, or lies below the scan floor. */
  passedOver: boolean;
  /** Rows that this claim has moved beyond a minute after their promise; null: none. */
  late: { id: string; reason: string }[] | null;
}

/** A row as `claim` returns it; one without an id when it took none. */
export interface ClaimRow {
  /** On the first row, null on the others. */
  summary: ClaimSummary | null;
  id: string | null;
  fence: number;
  attempt: number;
  ambiguous: boolean;
  gateId: string;
  dueAt: Date;
  gateFailures: number;
  /** Whether its gate has been in trouble since it was last well. */
  gateMarked: boolean;
  crashes: number;
}

/** Rows that are taken at a time. */
export const MOST_PER_CLAIM = 100;
/** Counters stop here: one that overflows would fail every claim it is part of. */
const MOST_ATTEMPTS = 30_000;
/** How long the others wait while one tries a gate that was closed. */
const HALF_OPEN_WAIT_MS = 2_000;
/** A row that is so much later than promised is told to its dispatcher. */
const LATE_SECONDS = 60;

/*
 * Rows of the queue (`j`) are found by ids that are known by then (`rows`, materialized), and what belongs to a row by its place
 * among them, which takes the longer the more there are: what is known of locked rows is said without asking them again. A join would say it in fewer words: but a queue that is empty while its claim is planned looks like one row to the
 * planner, and it begins there, reading the whole queue for every claim of a burst; told both, it goes through all ids for each
 * of them.
 */
const ids = (rows: string) => `array(select id from ${rows})`;
const among = (rows: string) => `j.id = any(${ids(rows)})`;
const its = (column: string, rows: string) =>
  `(array(select ${column} from ${rows}))[array_position(${ids(rows)}, j.id)]`;

/** A row that was in hand at this many deaths of its worker is set aside; before that it is a suspect. */
export const MOST_CRASHES = 3;
/** Suspects of one death run so many at a time in a process; those of two alone, in all processes. */
export const FIRST_SUSPECTS = 8;

const SUSPECT = `c.crashes between 1 and ${MOST_CRASHES - 1}`;

function candidates({ table, gateColumn, deadlineColumn }: QueueTable): string {
  return `
      cand as materialized (
        select id, ${gateColumn} as gate, run_at, due_at, crashes,
          ${deadlineColumn ?? 'null::timestamptz'} as deadline, ${deadlineColumn ? `${deadlineColumn} <= now()` : 'false'} as urgent
        from ${table}
        where state = 0 and run_at <= now() and run_at >= $3
        order by run_at limit $4 for update skip locked)`;
}

/**
 * Per gate: `most` in flight, `let_in` by its breaker (none while it is closed, then one at a time until it is well),
 * and how long those wait whom the breaker does not let in. What has ended and is not written yet takes nobody's place, but
 * until it is written the breaker does not know what came of it.
 */
function gates({ table, gateColumn, breaker, paceMs }: QueueTable): string {
  const closedFor = `extract(epoch from g.closed_until - now()) * 1000`;
  return `
      acc as materialized (
        select c.gate, coalesce(g.max_in_flight, 8) as most, ${paceMs ?? 'coalesce(g.slot_ms, 50)'} as slot_ms,
          ${breaker ? 'coalesce(greatest(g.failures, case when g.closed_until is not null then 1 end), 0)' : '0'} as failures,
          ${breaker ? 'g.failures > 0 or g.closed_until is not null' : 'false'} as marked,
          ${breaker ? `case when g.closed_until > now() then 0 when g.closed_until <= now() then 1 else 32767 end` : '32767'} as let_in,
          ${breaker ? `case when g.closed_until is null then 0 else greatest(${closedFor}, ${HALF_OPEN_WAIT_MS}) end` : '0'} as wait_ms,
          ${breaker ? 'case when g.closed_until is not null then g.close_reason end' : 'null'} as reason, held.busy, held.ended
        from (select distinct gate from cand) c left join account_gate g on g.account_id = c.gate
        cross join lateral (
          select count(*) filter (where b.id <> all($6::uuid[])) as busy, count(*) filter (where b.id = any($6::uuid[])) as ended
          from ${table} b where b.${gateColumn} = c.gate and b.state = 1) held)`;
}

/**
 * `fits`: its gate lets it in. A row at its own deadline does not wait for the breaker. `cleared`: it is no suspect,
 * or its turn has come.
 */
function ranking({ table }: QueueTable): string {
  const second = `(select exists (select 1 from ${table} b where b.state = 1 and b.crashes = ${MOST_CRASHES - 1}))`;
  return `
      ranked as materialized (
        select c.*, a.most, a.slot_ms, a.failures, a.marked, a.let_in, a.wait_ms, a.reason, a.ended,
          a.busy + row_number() over (partition by c.gate order by c.urgent desc, c.run_at, c.id) as pos,
          case when ${SUSPECT} then row_number() over (partition by c.crashes order by c.run_at, c.id) else 0 end as turn
        from cand c join acc a using (gate)),
      judged as materialized (
        select c.*, c.pos <= c.most and (c.urgent or c.pos + c.ended <= c.let_in) as fits,
          case when not ${SUSPECT} then true
               when c.crashes = 1 then c.turn <= $5
               else c.turn = 1 and not ${second} end as cleared
        from ranked c),
      take as materialized (
        select id, failures, marked from judged where fits and cleared order by pos, run_at limit $1)`;
}

/**
 * Surplus rows get slots of their gate's pace, later by what its breaker says but never beyond their own deadline;
 * suspects whose turn has not come get one soon.
 */
function parking({ table, paceMs }: QueueTable): string {
  const surplusOf = 'select distinct gate, n, slot_ms from surplus';
  // With a pace of its own a queue leaves the gate alone: its rows take their turns from now on.
  const pace = paceMs
    ? `select gate as account_id, now() + n * slot_ms * interval '1 ms' as next_slot from (${surplusOf}) s`
    : `
        insert into account_gate as g (account_id, next_slot, slot_ms)
        select gate, now() + n * slot_ms * interval '1 ms', slot_ms from (${surplusOf}) s order by gate
        on conflict (account_id) do update
          set next_slot = greatest(g.next_slot, now()) + (excluded.next_slot - now())
        returning account_id, next_slot`;
  return `
      surplus as (
        select id, gate, run_at, due_at, deadline, slot_ms, reason, case when urgent then 0 else wait_ms end as wait_ms,
          row_number() over (partition by gate order by run_at, id) as ord, count(*) over (partition by gate) as n
        from judged where not fits),
      pace as (${pace}),
      slots as materialized (
        select s.id, s.run_at as before, s.due_at, s.reason,
          least(p.next_slot + (s.wait_ms - (s.n - s.ord) * s.slot_ms) * interval '1 ms',
                case when s.deadline > now() then s.deadline end) as at
        from surplus s join pace p on p.account_id = s.gate),
      park as (update ${table} j set run_at = ${its('at', 'slots')} where ${among('slots')}),
      turns as materialized (
        select id, now() + case when crashes = 1 then interval '200 ms' else interval '500 ms' end
                           * ceil(turn / case when crashes = 1 then ${FIRST_SUSPECTS}.0 else 1 end) as at
        from judged where fits and not cleared),
      held as (update ${table} j set run_at = ${its('at', 'turns')} where ${among('turns')})`;
}

const LATE_ROWS = `
    (select json_agg(json_build_object('id', id, 'reason', coalesce(reason, 'waiting for the account''s sending pace')))
     from slots where at > due_at + interval '${LATE_SECONDS} s' and before <= due_at + interval '${LATE_SECONDS} s')`;

/** As `ClaimSummary`. */
function summary({ table }: QueueTable, tellsLate: boolean): string {
  const waiting = `from ${table} where state = 0 and run_at`;
  return `
      json_build_object(
        'seen', (select count(*) from cand),
        'parked', (select count(*) from slots) + (select count(*) from turns),
        'lowestMs', (select floor(extract(epoch from min(run_at)) * 1000) from cand),
        'nextMs', extract(epoch from least(
          (select run_at ${waiting} > now() order by run_at limit 1),
          (select min(at) from slots), (select min(at) from turns)) - now()) * 1000,
        'passedOver', exists (
          select 1 from (select id ${waiting} <= now() order by run_at limit 1) first
          where not exists (select 1 from cand where cand.id = first.id)),
        'late', ${tellsLate ? LATE_ROWS : 'null'})`;
}

/**
 * Builds the claim: $1 free slots, $2 worker, $3 scan floor, $4 window, $5 suspects of one death that may be taken, $6 ids of
 * claimed rows whose runs have ended. Answers at least one row.
 * @param tellsLate whether `late` is asked for
 */
export function claimStatement(queue: QueueTable, tellsLate: boolean): string {
  const { table, gateColumn, columns } = queue;
  const extra = Object.entries(columns)
    .map(([property, column]) => `, j.${column} as "${property}"`)
    .join('');
  return `
      with ${[candidates, gates, ranking, parking].map((part) => part(queue)).join(',')},
      taken as (
        update ${table} j
        set state = 1, attempt = least(attempt + 1, ${MOST_ATTEMPTS}), fence = fence + 1, worker_id = $2, handoff_at = null
        where ${among('take')}
        returning j.id, j.fence, j.attempt, j.ambiguous, j.${gateColumn} as "gateId", j.due_at as "dueAt",
          ${its('failures', 'take')} as "gateFailures", ${its('marked', 'take')} as "gateMarked", j.crashes${extra})
      select case when row_number() over () = 1 then ${summary(queue, tellsLate)} end as summary, taken.*
      from (select) one
      left join taken on true`;
}
