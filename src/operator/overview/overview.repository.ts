import { hostname } from 'node:os';
import { firstIdAt } from '../../platform/base/ids/ids.ts';
import { CLOCK_TOLERANCE_SECONDS } from '../../platform/database/health/database-clock.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { Failover } from '../../platform/work/workers/failover.ts';
import { DEAD_AFTER_SECONDS } from '../../platform/work/queue/queue-statements.ts';
import { QUEUES, type QueueName } from '../../platform/work/signals.ts';
import { lastPassFailed } from '../../accounts/sync-schedule/last-pass-failed.ts';
import { SYNC_FAILING } from '../accounts/sync-failing.ts';
import { MOST_COUNTED } from '../search/search-limit.ts';
import {
  type DeliveryFigures,
  type FailingServer,
  type LostWorkerState,
  OVERVIEW_SECONDS,
  type ProcessState,
  type QueueState,
  type RefusalState,
  type SendingFigures,
  type SyncState,
  type WebhookStates,
  type WorkerState,
} from './overview.ts';
import { ROW_CLAIMED, ROW_WAITING } from '../../platform/work/queue/row-state.ts';
import type { Instance } from '../../platform/work/workers/instance.entity.ts';
import type { NotNull, RowOf } from '../../platform/database/rows/row-of.ts';

/*
 * Every statement reads a limited number of rows through an index, whatever the size of its table.
 * None of them locks anything.
 */

const TABLES = {
  send: 'send_job',
  provider: 'provider_job',
  hook: 'hook_job',
  reminder: 'reminder_job',
  sync: 'sync_job',
} as const satisfies Record<QueueName, string>;

/** A row is overdue from this time on, in seconds. */
const OVERDUE_SECONDS = 60;

/** A row of `sync` stays for ever, so its promised time is that of its next pass. */
const queueState = (queue: QueueName): string => `
  select '${queue}' as queue, (count(*) filter (where run_at <= now()))::int as due,
    greatest(0, coalesce(extract(epoch from now() - min(run_at)), 0))::float8 as "oldestDueSeconds",
    (count(*) filter (where ${queue === 'sync' ? 'run_at' : 'due_at'} < now() - interval '${OVERDUE_SECONDS} s'))::int as overdue,
    (select count(*) from (select from ${TABLES[queue]} where state = ${ROW_CLAIMED} limit ${MOST_COUNTED}) c)::int as claimed,
    (select greatest(reltuples, 0) from pg_class where oid = '${TABLES[queue]}'::regclass)::float8 as "estimatedRows"
  from (select run_at, due_at from ${TABLES[queue]} where state = ${ROW_WAITING} order by run_at limit ${MOST_COUNTED}) waiting`;

const QUEUE_STATES = QUEUES.map(queueState).join(' union all ');

/** Servers that are named; mailboxes of others are counted by provider. */
const MOST_SERVERS = 10;

const APART = `
  select
    (select count(*) from (select from send_job where held limit ${MOST_COUNTED}) h)::int as held,
    (select count(*) from (select from send_job where crashes > 0 limit ${MOST_COUNTED}) q)::int as quarantined`;

// The index grant_troubled has these rows.
const INVALID = `
  select count(*)::int as invalid from (select from "grant" where status = 'invalid' limit ${MOST_COUNTED}) i`;

const SYNC = `
  with due as materialized (
    select account_id, run_at from sync_job where state = ${ROW_WAITING} and run_at <= now() order by run_at limit ${MOST_COUNTED}),
  failing as materialized (
    select account_id from (${SYNC_FAILING}) f limit ${MOST_COUNTED}),
  listed as (
    select account_id, run_at, 1 as due, 0 as failing from due
    union all
    select account_id, null, 0, 1 from failing)
  select g.provider, sum(due)::int as due, sum(failing)::int as failing,
    coalesce(extract(epoch from now() - min(run_at)), 0)::float8 as "lagSeconds"
  from listed l join "grant" g on g.id = l.account_id
  group by g.provider order by g.provider`;

const FAILING_SERVERS = `
  with failing as materialized (
    select f.account_id from (${SYNC_FAILING}) f limit ${MOST_COUNTED}),
  counted as (
    select g.provider, case when ${lastPassFailed('j')} then j.failed_server end as server, count(*)::int as failing
    from failing f join "grant" g on g.id = f.account_id left join sync_job j on j.account_id = g.id group by 1, 2),
  ranked as (select c.*, row_number() over (order by failing desc, provider, server) as place from counted c)
  select provider, case when place <= ${MOST_SERVERS} then server end as server, sum(failing)::int as failing
  from ranked group by 1, 2 order by 3 desc, 1, 2`;

const WEBHOOKS = `
  select state, count(*)::int as count
  from (select case when state = 'failed' and paused then 'paused' else state end as state from webhook limit ${MOST_COUNTED}) w
  group by state`;

const FAILING_MAILS = `
  select count(*)::int as failing from (
    select from webhook_mail where failed_at > $1::timestamptz - interval '1 day' limit ${MOST_COUNTED}) m`;

const WORKERS = `
  select id, host, pid, started_at as "startedAt", greatest(0, extract(epoch from now() - seen_at))::float8 as "silentSeconds"
  from worker where moved_at is null order by id limit 1000`;

const LOST_WORKERS = `
  select l.id, l.host, l.pid, l.lost_at as "lostAt",
    (select max(w.id) from worker w
     where w.host = l.host and w.pid = l.pid and w.seen_at > now() - interval '${DEAD_AFTER_SECONDS} s') as "againAs"
  from lost_worker l where l.lost_at > now() - interval '${OVERVIEW_SECONDS} s' order by l.lost_at desc limit 100`;
/** The row of this process is left out ($1 host, $2 pid): it knows its state without the row. */
const PROCESSES = `
  select host, pid, roles, problems, clock_ahead_seconds as "clockAheadSeconds" from running_process
  where seen_at > now() - interval '1 minute' and (host, pid) <> ($1, $2)
    and (problems <> '[]' or abs(clock_ahead_seconds) > ${CLOCK_TOLERANCE_SECONDS})
  order by host, pid limit 1000`;

/** A single wrong token or a short burst is no reason to worry. */
const LEAST_REFUSED = { login: 10, limit: 20 };
const REFUSED_WITHIN_MINUTES = 5;

const REFUSALS = `
  select r.kind, r.refused, r.began_at as "beganAt", r.seen_at as "seenAt", r.client,
    case when g.id is not null then json_build_object('id', g.id, 'email', g.email) end as account,
    case when a.id is not null then json_build_object('clientId', a.client_id, 'name', a.name) end as application
  from refusal r left join "grant" g on g.id = r.account_id left join application a on a.id = r.application_id
  where r.seen_at > now() - interval '${REFUSED_WITHIN_MINUTES} min'
    and r.refused >= case r.kind when 'login' then ${LEAST_REFUSED.login} else ${LEAST_REFUSED.limit} end
  order by r.refused desc limit 5`;

const MESSAGE_ACTIONS = `('new_outbox', 'send_message', 'send_invitation')`;

/** $1 the first id to read, $2 start of the hour. The row without `at` is about all minutes. */
const SENDING = `
  with recent as materialized (
    select job_id, started_at, outcome, next_at, attempt from job_attempt where id >= $1 order by id desc limit ${MOST_COUNTED}),
  sends as (
    select date_trunc('minute', r.started_at) as minute, r.outcome, r.next_at is null as last,
      case when r.attempt = 1 then greatest(0, extract(epoch from r.started_at - s.send_at)) end::float8 as late
    from recent r join job_status s on s.id = r.job_id
    where s.action in ${MESSAGE_ACTIONS} and r.started_at >= $2)
  select minute as at, (count(*) filter (where outcome = 'sent'))::int as sent,
    (count(*) filter (where outcome = 'not-sent' and not last))::int as retried,
    (count(*) filter (where outcome = 'not-sent' and last))::int as failed,
    (count(*) filter (where outcome = 'unknown'))::int as unknown,
    percentile_cont(0.5) within group (order by late) as "lateP50Seconds",
    percentile_cont(0.99) within group (order by late) as "lateP99Seconds",
    (select case when count(*) = ${MOST_COUNTED} then min(started_at) end from recent) as "since"
  from sends group by grouping sets ((minute), ())`;

const DELIVERIES = `
  with recent as materialized (
    select started_at, outcome, took_ms from webhook_attempt where id >= $1 order by id desc limit ${MOST_COUNTED})
  select date_trunc('minute', started_at) as at, (count(*) filter (where outcome = 'delivered'))::int as delivered,
    (count(*) filter (where outcome = 'retry'))::int as retried,
    (count(*) filter (where outcome = 'dropped'))::int as dropped,
    percentile_cont(0.5) within group (order by took_ms / 1000.0) as "tookP50Seconds",
    percentile_cont(0.99) within group (order by took_ms / 1000.0) as "tookP99Seconds",
    (select case when count(*) = ${MOST_COUNTED} then min(started_at) end from recent) as "since"
  from recent where started_at >= $2 group by grouping sets ((date_trunc('minute', started_at)), ())`;

/** Figures of one minute, or of the whole hour if `at` is `null`. */
export type FiguresRow<F> = F & {
  at: Date | null;
  /** Start of the oldest attempt that was read, if not all of the hour were read; else `null`. */
  since: Date | null;
};

/** @returns the time by the database's clock */
export async function databaseNow(sql: Sql): Promise<Date> {
  const [row] = await sql.query<{ now: Date }>('select now() as now');
  if (!row) throw new Error('the database did not return its time');
  return row.now;
}

export function queueStates(sql: Sql): Promise<QueueState[]> {
  return sql.query<QueueState>(QUEUE_STATES);
}

/** Messages on hold and in quarantine. */
export async function messagesApart(sql: Sql): Promise<{ held: number; quarantined: number }> {
  const [row] = await sql.query<{ held: number; quarantined: number }>(APART);
  return row ?? { held: 0, quarantined: 0 };
}

/** Number of accounts whose provider refuses the credentials. */
export async function invalidAccounts(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ invalid: number }>(INVALID);
  return row?.invalid ?? 0;
}

/** Providers with mailboxes whose pass is due or failing. */
export function syncStates(sql: Sql): Promise<SyncState[]> {
  return sql.query<SyncState>(SYNC);
}

const FAILOVER = `
  select failover, extract(epoch from (failover ->> 'at')::timestamptz)::float8 as "atSeconds"
  from instance where id = 1 and failover is not null`;

/** The last failover of the database, and its time in seconds since 1970. */
export async function lastFailover(
  sql: Sql,
): Promise<{ failover: Failover; atSeconds: number } | undefined> {
  return (
    await sql.query<NotNull<RowOf<Instance, 'failover'>> & { atSeconds: number }>(FAILOVER)
  )[0];
}

/** Servers at which mailboxes cannot be synced. */
export function failingServers(sql: Sql): Promise<FailingServer[]> {
  return sql.query<FailingServer>(FAILING_SERVERS);
}

/** Senders whose requests are refused. */
export function refusalStates(sql: Sql): Promise<RefusalState[]> {
  return sql.query<RefusalState>(REFUSALS);
}

export async function webhookStates(sql: Sql): Promise<WebhookStates> {
  const rows = await sql.query<{ state: keyof WebhookStates; count: number }>(WEBHOOKS);
  const none = { active: 0, failing: 0, failed: 0, paused: 0, inactive: 0 };
  return { ...none, ...Object.fromEntries(rows.map(({ state, count }) => [state, count])) };
}

/** Number of applications whose last mail about their webhooks failed within the last day. */
export async function failingWebhookMails(sql: Sql, now: Date): Promise<number> {
  const [row] = await sql.query<{ failing: number }>(FAILING_MAILS, [now]);
  return row?.failing ?? 0;
}

/** Worker processes; one that counts as dead is listed until another worker removes it. */
export function workerStates(sql: Sql): Promise<WorkerState[]> {
  return sql.query<WorkerState>(WORKERS);
}

/** Workers that were declared dead within the last hour. */
export function lostWorkerStates(sql: Sql): Promise<LostWorkerState[]> {
  return sql.query<LostWorkerState>(LOST_WORKERS);
}

/** Other processes than this one that report a failing check or a wrong clock. */
export function troubledProcesses(sql: Sql): Promise<ProcessState[]> {
  return sql.query<ProcessState>(PROCESSES, [hostname(), process.pid]);
}

/** Whether other workers may take over this worker's rows. */
export const isSilent = ({ silentSeconds }: WorkerState): boolean =>
  silentSeconds > DEAD_AFTER_SECONDS;

const lastHour = (now: Date): [id: string, since: Date] => {
  const since = new Date(now.getTime() - OVERVIEW_SECONDS * 1000);
  return [firstIdAt(since), since];
};

/** Figures of the hour before `now`, and of its minutes. */
export function sendingFigures(sql: Sql, now: Date): Promise<FiguresRow<SendingFigures>[]> {
  return sql.query<FiguresRow<SendingFigures>>(SENDING, lastHour(now));
}

/** Figures of the hour before `now`, and of its minutes. */
export function deliveryFigures(sql: Sql, now: Date): Promise<FiguresRow<DeliveryFigures>[]> {
  return sql.query<FiguresRow<DeliveryFigures>>(DELIVERIES, lastHour(now));
}
