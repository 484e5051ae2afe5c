-- The claim of the queue `send` as PostgreSQL gets it. `claim-statement.ts` builds the claim of
-- each queue and has the reasons; test/medium/claim-statement compares it with this file, and runs
-- the example.
--
-- $1 free slots, $2 worker, $3 scan floor, $4 most oldest rows to read, $5 suspects with one death
-- that may be taken, $6 ids of claimed rows whose runs have ended, $7 most newest rows to read
--
--   oldest, newest   locks the due rows to look at
--   gates            for each account of these rows: how many rows may run, and how many do
--   ranked, decided  gives each row its number in its account, and decides: fits? cleared?
--   admitted         the rows to take, at most $1
--   turned_away      rows that their rate gate does not let in
--   pace, parked     gives each of them a later time, one interval of the account after the other
--   later_suspects   suspects that may not run yet get a later time, too
--   taken            claims the admitted rows
--
-- Example: account A may run 2 rows at a time, 100 ms apart, and its row a0 is running. The circuit
-- breaker of account B is stopped for 30 s. The rows a1, a2, a3 and b1 are due. A worker with ten
-- free slots runs the statement:
--
--   row  nth_in_flight  fits                       becomes
--   a1   2              yes: A may run 2           taken
--   a2   3              no                         parked for 100 ms
--   a3   4              no                         parked for 200 ms
--   b1   1              no: let_in of B is 0       parked for 30.05 s: the stop and one interval of B
--
-- The first row also has the summary: 4 rows seen, 3 parked, none of them late by this claim.
with
oldest as materialized (
  select id, account_id as gate, run_at, due_at, crashes,
    retry_limit_at as deadline, retry_limit_at <= now() as urgent
  from send_job
  where state = 0 and run_at <= now() and run_at >= $3 order by run_at limit $4 for update skip locked),
newest as materialized (
  select id, account_id as gate, run_at, due_at, crashes,
    retry_limit_at as deadline, retry_limit_at <= now() as urgent
  from send_job
  where state = 0 and run_at <= now() and run_at >= $3 and id <> all(array(select id from oldest)) order by run_at desc limit $7 for update skip locked),
due_rows as materialized (
  select *, false as ahead from oldest union all select *, true from newest),
gates as materialized (
  select d.gate, coalesce(g.max_in_flight, 8) as max_in_flight, coalesce(g.slot_ms, 50) as slot_ms,
    coalesce(greatest(g.failures, case when g.closed_until is not null then 1 end), 0) as failures,
    g.failures > 0 or g.closed_until is not null as marked,
    case when g.closed_until > now() then 0 when g.closed_until <= now() then 1 else 32767 end as let_in,
    case when g.closed_until is null then 0 else greatest(extract(epoch from g.closed_until - now()) * 1000, 2000) end as wait_ms,
    case when g.closed_until is not null then g.close_reason end as reason, claimed.running, claimed.ended
  from (select distinct gate from due_rows) d left join account_gate g on g.account_id = d.gate
  cross join lateral (
    select count(*) filter (where b.id <> all($6::uuid[])) as running, count(*) filter (where b.id = any($6::uuid[])) as ended
    from send_job b where b.account_id = d.gate and b.state = 1) claimed),
ranked as materialized (
  select r.*, g.max_in_flight, g.slot_ms, g.failures, g.marked, g.let_in, g.wait_ms, g.reason, g.ended,
    g.running + row_number() over (partition by r.gate order by r.urgent desc, r.run_at, r.id) as nth_in_flight,
    case when r.crashes between 1 and 2 then row_number() over (partition by r.crashes order by r.run_at, r.id) else 0 end as nth_suspect
  from due_rows r join gates g using (gate)),
decided as materialized (
  select r.*, r.nth_in_flight <= r.max_in_flight and (r.urgent or r.nth_in_flight + r.ended <= r.let_in) as fits,
    case when not r.crashes between 1 and 2 then true
         when r.crashes = 1 then r.nth_suspect <= $5
         else r.nth_suspect = 1 and not (select exists (select 1 from send_job b where b.state = 1 and b.crashes = 2)) end as cleared
  from ranked r),
admitted as materialized (
  select id, failures, marked from decided where fits and cleared order by nth_in_flight, run_at limit $1),
turned_away as (
  select id, gate, run_at, due_at, deadline, slot_ms, reason, case when urgent then 0 else wait_ms end as wait_ms,
    row_number() over (partition by gate order by run_at, id) as nth, count(*) over (partition by gate) as in_all
  from decided where not fits and not ahead),
pace as (
  insert into account_gate as g (account_id, next_slot, slot_ms)
  select gate, now() + in_all * slot_ms * interval '1 ms', slot_ms from (select distinct gate, in_all, slot_ms from turned_away) s order by gate
  on conflict (account_id) do update
    set next_slot = greatest(g.next_slot, now()) + (excluded.next_slot - now())
  returning account_id, next_slot),
parked as materialized (
  select s.id, s.run_at as old_run_at, s.due_at, s.reason,
    least(p.next_slot + (s.wait_ms - (s.in_all - s.nth) * s.slot_ms) * interval '1 ms',
          case when s.deadline > now() then s.deadline end) as new_run_at
  from turned_away s join pace p on p.account_id = s.gate),
park_rows as (update send_job j set run_at = (array(select new_run_at from parked))[array_position(array(select id from parked), j.id)] where j.id = any(array(select id from parked))),
later_suspects as materialized (
  select id, now() + case when crashes = 1 then interval '50 ms' else interval '500 ms' end
                     * ceil(nth_suspect / case when crashes = 1 then 8.0 else 1 end) as new_run_at
  from decided where fits and not cleared and not ahead),
park_suspects as (update send_job j set run_at = (array(select new_run_at from later_suspects))[array_position(array(select id from later_suspects), j.id)] where j.id = any(array(select id from later_suspects))),
taken as (
  update send_job j
  set state = 1, attempt = least(attempt + 1, 30000), fence = fence + 1, worker_id = $2, handoff_at = null
  where j.id = any(array(select id from admitted))
  returning j.id, j.fence, j.attempt, j.ambiguous, j.account_id as "gateId", j.due_at as "dueAt",
    extract(epoch from clock_timestamp() - j.due_at)::float8 as "lateSeconds",
    (array(select failures from admitted))[array_position(array(select id from admitted), j.id)] as "gateFailures", (array(select marked from admitted))[array_position(array(select id from admitted), j.id)] as "gateMarked", j.crashes, j.retry_limit_at as "retryLimitAt", j.route as "route", j.failures as "failures", j.look_ups as "lookUps", j.resend_attempt as "resendAttempt", j.put_off as "deferred", j.held as "held", j.traceparent as "traceparent", j.paused as "paused", j.attempt_assumed as "attemptAssumed")
select case when row_number() over () = 1 then 
json_build_object(
  'seen', (select count(*) from oldest),
  'parked', (select count(*) from parked) + (select count(*) from later_suspects),
  'lowestMs', (select floor(extract(epoch from min(run_at)) * 1000) from oldest),
  'nextMs', extract(epoch from least(
    (select run_at from send_job where state = 0 and run_at > now() order by run_at limit 1),
    (select min(new_run_at) from parked), (select min(new_run_at) from later_suspects)) - now()) * 1000,
  'passedOver', exists (
    select 1 from (select id from send_job where state = 0 and run_at <= now() order by run_at limit 1) first
    where not exists (select 1 from oldest where oldest.id = first.id)),
  'late', 
    (select json_agg(json_build_object('id', id, 'reason', coalesce(reason, 'waiting for the account''s sending pace')))
     from parked where new_run_at > due_at + interval '60 s' and old_run_at <= due_at + interval '60 s')) end as summary, taken.*
from (select) one
left join taken on true;
