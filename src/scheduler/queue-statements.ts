import type { QueueTable } from '../common/work/dispatcher.ts';

/*
 * SQL of one queue. The names come from `QueueTable` constants in our own code, never from input.
 *
 * Claim: one partial index `(run_at) where state = 0` in claim order. Candidates are locked with SKIP LOCKED; of
 * each gate (account, webhook) only as many are taken as its concurrency allows, and each surplus row is moved once
 * to its own later slot (pacing by GCRA), so that one account with very many rows delays nobody. `materialized` is
 * not decoration: without it the planner may run the LIMIT subquery twice and update more rows than LIMIT.
 */

/** Statements of one queue. */
export interface QueueStatements {
  /** $1 free slots, $2 worker, $3 scan floor, $4 window. Answers at least one row. */
  claim: string;
  /** Milliseconds until the next waiting row is due. */
  next: string;
  /** $1 ids, $2 fences, $3 worker. */
  handOff: string;
  /** $1 ids, $2 fences. */
  finish: string;
  /** $1 ids, $2 fences, $3 instants, $4 ambiguous flags. */
  again: string;
  /** $1 ids, $2 fences, $3 milliseconds to wait: gives back rows whose run had no effect. */
  release: string;
  /** $1 worker, $2 ids and $3 fences in hand: gives back what this worker holds in the database but not in hand. */
  reclaim: string;
}

/** What `claim` says besides the rows it took. */
export interface ClaimSummary {
  /** Candidates seen and parked by this claim, and the earliest candidate; null: none. */
  seen: number;
  parked: number;
  lowest: Date | null;
}

/** A row as `claim` returns it; one without an id when it took none. */
export interface ClaimRow extends ClaimSummary {
  id: string | null;
  fence: number;
  attempt: number;
  ambiguous: boolean;
  gateId: string;
  dueAt: Date;
  gateFailures: number;
  crashes: number;
}

/** Counters stop here: one that overflows would fail every claim it is part of. */
const MOST_ATTEMPTS = 30_000;
const MOST_CRASHES = 100;

const dueInMs = (table: string) =>
  `(extract(epoch from (select run_at from ${table} where state = 0 order by run_at limit 1) - clock_timestamp()) * 1000)::float8`;

/** Builds the statements of one queue; each text is constant, so each is prepared once per connection. */
export function queueStatements({ table, gateColumn, columns, permanent }: QueueTable): QueueStatements {
  const extra = Object.entries(columns)
    .map(([property, column]) => `, j.${column} as "${property}"`)
    .join('');
  return {
    claim: `
      with cand as materialized (
        select id, ${gateColumn} as gate, run_at from ${table}
        where state = 0 and run_at <= now() and run_at >= $3
        order by run_at limit $4 for update skip locked),
      acc as materialized (
        select c.gate,
          least(max(coalesce(g.max_in_flight, 8)), case when max(g.closed_until) > now() then 0 else 1000 end) as cap,
          max(coalesce(g.slot_ms, 50)) as slot_ms, max(coalesce(g.failures, 0)) as failures,
          (select count(*) from ${table} b where b.${gateColumn} = c.gate and b.state = 1) as busy
        from cand c left join account_gate g on g.account_id = c.gate group by c.gate),
      ranked as materialized (
        select c.id, c.gate, c.run_at, a.cap, a.slot_ms, a.failures,
          a.busy + row_number() over (partition by c.gate order by c.run_at, c.id) as pos
        from cand c join acc a using (gate)),
      take as materialized (select id, failures from ranked where pos <= cap order by pos, run_at limit $1),
      surplus as (
        select gate, max(slot_ms) as slot_ms, count(*) as n, array_agg(id order by run_at, id) as ids
        from ranked where pos > cap group by gate),
      pace as (
        insert into account_gate as g (account_id, next_slot, slot_ms)
        select gate, now() + n * slot_ms * interval '1 ms', slot_ms from surplus order by gate
        on conflict (account_id) do update
          set next_slot = greatest(g.next_slot, now(), coalesce(g.closed_until, now())) + (excluded.next_slot - now())
        returning account_id, next_slot),
      park as (
        update ${table} j set run_at = p.next_slot - (s.n - x.ord) * s.slot_ms * interval '1 ms'
        from surplus s join pace p on p.account_id = s.gate, unnest(s.ids) with ordinality x(id, ord)
        where j.id = x.id returning j.id),
      taken as (
        update ${table} j
        set state = 1, attempt = least(attempt + 1, ${MOST_ATTEMPTS}), fence = fence + 1, worker_id = $2, handoff_at = null
        from take where j.id = take.id
        returning j.id, j.fence, j.attempt, j.ambiguous, j.${gateColumn} as "gateId", j.due_at as "dueAt",
          take.failures as "gateFailures", j.crashes${extra})
      select s.*, taken.*
      from (select (select count(*) from cand)::int as seen, (select count(*) from park)::int as parked,
              (select min(run_at) from cand) as lowest) s
      left join taken on true`,
    next: `select ${dueInMs(table)} as ms`,
    handOff: `
      update ${table} j set handoff_at = clock_timestamp()
      from unnest($1::uuid[], $2::int[]) x(id, fence)
      where j.id = x.id and j.fence = x.fence and j.state = 1 and j.worker_id = $3
      returning j.id`,
    finish: `
      delete from ${table} j using unnest($1::uuid[], $2::int[]) x(id, fence)
      where j.id = x.id and j.fence = x.fence and j.state = 1
      returning j.id`,
    again: `
      update ${table} j
      set state = 0, worker_id = null, handoff_at = null, ambiguous = x.ambiguous, crashes = 0,
          run_at = greatest(x.at, now())${permanent ? ', attempt = 0' : ''}
      from unnest($1::uuid[], $2::int[], $3::timestamptz[], $4::boolean[]) x(id, fence, at, ambiguous)
      where j.id = x.id and j.fence = x.fence and j.state = 1
      returning j.id`,
    release: `
      update ${table} j
      set state = 0, worker_id = null, handoff_at = null, attempt = greatest(attempt - 1, 0),
          run_at = now() + $3 * interval '1 ms'
      from unnest($1::uuid[], $2::int[]) x(id, fence)
      where j.id = x.id and j.fence = x.fence and j.state = 1
      returning j.id`,
    // Whatever kept the result of such a row from being written may be with us still: later and later.
    reclaim: giveBack(
      table,
      `j.worker_id = $1
       and not exists (select 1 from unnest($2::uuid[], $3::int[]) x(id, fence) where x.id = j.id and x.fence = j.fence)`,
      `now() + least(power(2, least(crashes, 10)), 60) * interval '1 s'`,
    ),
  };
}

/** How long a worker may be silent before its claims are given back. */
export const DEAD_AFTER_SECONDS = 8;

/** How long a row that may have taken effect waits before anybody looks: views of sent mail lag. */
const AMBIGUOUS_WAIT_SECONDS = 15;

/**
 * An attempt that had no effect does not count. Rows that somebody is just settling are passed over: their holder is
 * alive after all, or the next sweep finds them.
 */
function giveBack(table: string, condition: string, unmarkedAt = 'now()'): string {
  return `
  update ${table} j
  set state = 0, worker_id = null, crashes = least(crashes + 1, ${MOST_CRASHES}), handoff_at = null,
      ambiguous = ambiguous or handoff_at is not null,
      attempt = case when handoff_at is null then greatest(attempt - 1, 0) else attempt end,
      run_at = case when handoff_at is null then ${unmarkedAt} else now() + interval '${AMBIGUOUS_WAIT_SECONDS} s' end
  where j.id in (select j.id from ${table} j where j.state = 1 and ${condition} for update skip locked)
  returning 1`;
}

/** Gives back what dead workers held, over all queues in one statement; any number of processes may run it. */
export function sweepStatement(tables: readonly QueueTable[]): string {
  const parts = tables.map(
    ({ table }, index) => `q${index} as (${giveBack(table, 'j.worker_id in (select id from dead)')})`,
  );
  return `with dead as (delete from worker where seen_at < now() - interval '${DEAD_AFTER_SECONDS} s' returning id),
    ${parts.join(',\n')}
    select (select count(*) from dead)::int as dead,
           (${tables.map((_, index) => `(select count(*) from q${index})`).join(' + ')})::int as rows`;
}

/** The same for claims whose worker row does not exist at all. */
export function orphanStatement(tables: readonly QueueTable[]): string {
  const parts = tables.map(
    ({ table }, index) =>
      `q${index} as (${giveBack(table, 'not exists (select 1 from worker w where w.id = j.worker_id)')})`,
  );
  return `with ${parts.join(',\n')}
    select (${tables.map((_, index) => `(select count(*) from q${index})`).join(' + ')})::int as rows`;
}

/**
 * Heartbeat ($1 worker) and, in the same round trip, milliseconds until the next due row of each queue and what
 * `InstanceGuard` compares: `alive` and a `Pulse`.
 */
export function beatStatement(tables: readonly QueueTable[]): string {
  const next = tables.map(({ queue, table }) => `${dueInMs(table)} as "${queue}"`);
  return `with held as (select id, seen_at from worker where id = $1 for update),
    beat as (
      update worker w set seen_at = now() from held where w.id = held.id
      returning extract(epoch from held.seen_at)::float8 as before, extract(epoch from w.seen_at)::float8 as seen)
    select (select count(*) from beat)::int as alive, (select before from beat), (select seen from beat),
           pg_backend_pid() as backend, (select place ->> 'doubt' from instance where id = 1) as doubt,
           ${next.join(', ')}`;
}
