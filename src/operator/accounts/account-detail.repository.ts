import type { Sql } from '../../platform/database/sql.ts';
import type {
  AccountAudit,
  AccountDetail,
  AccountError,
  AccountGateState,
  AccountQuota,
  AccountSync,
  SendingPause,
  WaitingMessages,
} from './account-health.ts';
import { ROW_CLAIMED } from '../../platform/work/queue/row-state.ts';
import { MOST_COUNTED } from '../search/search-limit.ts';

const count = (from: string) =>
  `(select count(*)::int from (select ${from} limit ${MOST_COUNTED}) c)`;
const hold = (at: string, reason: string) =>
  `case when ${at} is not null then jsonb_build_object('since', ${at}, 'reason', ${reason}) end`;

const FACTS = `
  select g.name, g.status as "grantStatus", g.billing_state as "billingState", g.tokens_sealed is not null as "byOauth",
    g.proof, g.linked_at as "linkedAt",
    ${hold('a.sending_paused_at', 'a.sending_pause_reason')} as "applicationSendingPaused",
    ${hold('a.suspended_at', 'a.suspension_reason')} as "applicationSuspended",
    g.sync_reason as "reason", ${count(`from message where account_id = $1 and listed`)} as "contentsLeft",
    s.run_at as "nextPassAt", coalesce(s.state = ${ROW_CLAIMED}, false) as running, coalesce(s.failures, 0) as failures,
    coalesce(s.crashes, 0) as crashes, ${count(`from sync_failure where account_id = $1`)} as "unreadableMessages",
    case when t.closed_until > now() then t.closed_until end as "openUntil",
    case when t.closed_until > now() then t.close_reason end as "gateReason", coalesce(t.failures, 0) as "gateFailures"
  from "grant" g join application a on a.id = g.application_id
    left join sync_job s on s.account_id = g.id
    left join account_gate t on t.account_id = g.id
  where g.id = $1`;

interface FactsRow extends Pick<
  AccountDetail,
  'name' | 'grantStatus' | 'billingState' | 'byOauth' | 'proof' | 'linkedAt'
> {
  applicationSendingPaused: { since: string; reason: string | null } | null;
  applicationSuspended: { since: string; reason: string | null } | null;
  reason: string | null;
  contentsLeft: number;
  nextPassAt: Date | null;
  running: boolean;
  failures: number;
  crashes: number;
  unreadableMessages: number;
  openUntil: Date | null;
  gateReason: string | null;
  gateFailures: number;
}

/** Facts about an account that are one row each. */
export type AccountFacts = Pick<
  AccountDetail,
  | 'name'
  | 'grantStatus'
  | 'billingState'
  | 'byOauth'
  | 'proof'
  | 'linkedAt'
  | 'applicationSendingPaused'
  | 'applicationSuspended'
> & {
  sync: Omit<AccountSync, 'state' | 'currentSince' | 'lagSeconds'>;
  gate: AccountGateState;
};

const toHold = (hold: { since: string; reason: string | null } | null): SendingPause | null =>
  hold && { ...hold, since: new Date(hold.since) };

/** @returns `undefined` if there is no such account */
export async function readFacts(sql: Sql, accountId: string): Promise<AccountFacts | undefined> {
  const [row] = await sql.query<FactsRow>(FACTS, [accountId]);
  if (!row) return undefined;
  const { name, grantStatus, billingState, byOauth, proof, linkedAt } = row;
  const { reason, contentsLeft, nextPassAt, running, failures, crashes, unreadableMessages } = row;
  return {
    name,
    grantStatus,
    billingState,
    byOauth,
    proof,
    linkedAt,
    applicationSendingPaused: toHold(row.applicationSendingPaused),
    applicationSuspended: toHold(row.applicationSuspended),
    sync: { reason, contentsLeft, nextPassAt, running, failures, crashes, unreadableMessages },
    gate: { openUntil: row.openUntil, reason: row.gateReason, failures: row.gateFailures },
  };
}

const OPEN_MESSAGES = `
  select count(*)::int as open, count(*) filter (where paused)::int as paused, min(deadline) as "firstDeadline"
  from (
    select j.paused, case when j.retry_limit_at > j.due_at then j.retry_limit_at end as deadline
    from job_status o join send_job j using (id)
    where o.account_id = $1 and o.status in ('pending', 'delayed') limit ${MOST_COUNTED}) m`;

/** Messages that the account has accepted and that have not ended. */
export async function readWaiting(sql: Sql, accountId: string): Promise<WaitingMessages> {
  const [row] = await sql.query<WaitingMessages>(OPEN_MESSAGES, [accountId]);
  return row ?? { open: 0, paused: 0, firstDeadline: null };
}

const AUDIT = `
  select checked_at as "checkedAt", messages_checked as "messagesChecked", differences_found as "differencesFound",
    repaired, unrepaired, failed
  from mirror_audit where account_id = $1`;

/** @returns `null` if the mirror was never audited */
export async function readAudit(sql: Sql, accountId: string): Promise<AccountAudit | null> {
  return (await sql.query<AccountAudit>(AUDIT, [accountId]))[0] ?? null;
}

const QUOTAS = `
  select quota, used, alerted_at as "reachedAt" from quota_use
  where owner_id = $1 and per = 'account' and day = (now() at time zone 'UTC')::date order by quota`;

export function readQuotas(sql: Sql, accountId: string): Promise<AccountQuota[]> {
  return sql.query<AccountQuota>(QUOTAS, [accountId]);
}

// The attempts of the newest jobs: older errors no longer say what is wrong now.
const ERRORS = `
  select * from (
    select g.updated_at as at, 'credentials' as what, g.status_reason as text from "grant" g
      where g.id = $1 and g.status = 'invalid' and g.status_reason is not null
    union all
    select null, 'sync', g.sync_reason from "grant" g where g.id = $1 and g.sync_state = 'sync-error' and g.sync_reason is not null
    union all
    (select t.ended_at, 'send', t.detail
     from (select id from job_status where account_id = $1 and action in ('new_outbox', 'send_message') order by id desc limit 100) o
       join job_attempt t on t.job_id = o.id
     where t.outcome <> 'sent' and t.detail is not null order by t.id desc limit 1)
    union all
    (select null, 'subscription', error from push_subscription where account_id = $1 and error is not null order by resource limit 1)
    union all
    (select last_at, 'unreadable message', reason from sync_failure where account_id = $1 order by last_at desc limit 1)) e
  order by at desc nulls last, what`;

/** The last error of each kind, in the provider's words. */
export function readErrors(sql: Sql, accountId: string): Promise<AccountError[]> {
  return sql.query<AccountError>(ERRORS, [accountId]);
}
