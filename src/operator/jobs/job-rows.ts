import type { Sql } from '../../platform/database/sql.ts';
import { QUARANTINE_PREFIX } from '../../job-statuses/job-status.ts';
import type { FoundJob } from './job-search.ts';
import { MESSAGE_ACTIONS, SYNC_IS_DELAYED } from './job-search.ts';
import type { JobKind, JobStateName, JobSummary } from './job-types.ts';
import { ROW_WAITING } from '../../platform/work/queue/row-state.ts';

const SHOWN_RECIPIENTS = 20;

const OWNERS = `
  g.email as "accountEmail", g.application_id as "applicationId", a.name as "applicationName"`;
const JOIN_OWNERS = (accountId: string): string => `
  join "grant" g on g.id = ${accountId} join application a on a.id = g.application_id`;
const isQuarantined = (row: string): string =>
  `(${row}.status = 'failed' and coalesce(${row}.reason like '${QUARANTINE_PREFIX}%', false)) as quarantined`;

const MESSAGE_LIST = MESSAGE_ACTIONS.map((action) => `'${action}'`).join(', ');

// A job has a row in at most one of the two queues.
const STATUSES = `
  select s.id, case when s.action in (${MESSAGE_LIST}) then 'message' else 'write' end as kind, s.action,
    s.status as state, s.reason, ${isQuarantined('s')}, coalesce(q.state, w.state, 0) <> 0 as running,
    coalesce(q.ambiguous, w.ambiguous, false) as "outcomeUnknown", coalesce(q.held, false) as "onHold",
    s.account_id as "accountId", ${OWNERS}, m.content ->> 'subject' as subject,
    array(select r from jsonb_array_elements_text(m.envelope -> 'recipients') r limit ${SHOWN_RECIPIENTS}) as recipients,
    coalesce(jsonb_array_length(m.envelope -> 'recipients'), 0) as "recipientCount", m.message_id_header as "messageIdHeader",
    s.object, s.object_id as "objectId", s.created_at as "acceptedAt", s.send_at as "dueAt",
    case when q.state = ${ROW_WAITING} then q.run_at when w.state = ${ROW_WAITING} then w.run_at end as "nextAt",
    coalesce(q.attempt, w.attempt, (select max(t.attempt) from job_attempt t where t.job_id = s.id), 0) as attempts, s.route
  from job_status s ${JOIN_OWNERS('s.account_id')}
  left join outbox_message m on m.id = s.id
  left join send_job q on q.id = s.id
  left join provider_job w on w.id = s.id
  where s.id = any($1::uuid[])`;

const REMINDERS = `
  select r.id, 'reminder' as kind, r.type || '_reminder' as action,
    case r.status when 'sent' then 'successful'
      when 'scheduled' then case when r.attempts > 0 then 'delayed' else 'pending' end else r.status end as state,
    r.reason, ${isQuarantined('r')}, coalesce(q.state, 0) <> 0 as running, coalesce(q.ambiguous, false) as "outcomeUnknown",
    false as "onHold", r.account_id as "accountId", ${OWNERS}, c.content ->> 'subject' as subject,
    array[r.recipient] as recipients, 1 as "recipientCount", r.message_id_header as "messageIdHeader",
    'event' as object, r.event_id as "objectId", r.created_at as "acceptedAt", r.due_at as "dueAt",
    case when q.state = ${ROW_WAITING} then q.run_at end as "nextAt", greatest(r.attempts, q.attempt) as attempts, null as route
  from reminder r ${JOIN_OWNERS('r.account_id')}
  left join reminder_content c on c.event_id = r.event_id and c.notification_id = r.notification_id
  left join reminder_job q on q.id = r.id
  where r.id = any($1::uuid[])`;

const SYNCS = `
  select q.id, 'sync' as kind, 'sync_mailbox' as action,
    case when ${SYNC_IS_DELAYED} then 'delayed' else 'pending' end as state, g.sync_reason as reason,
    false as quarantined, q.state <> ${ROW_WAITING} as running, false as "outcomeUnknown", false as "onHold",
    q.account_id as "accountId", ${OWNERS}, null as subject, '{}'::text[] as recipients, 0 as "recipientCount",
    null as "messageIdHeader", 'account' as object, q.account_id as "objectId", g.linked_at as "acceptedAt",
    q.due_at as "dueAt", case when q.state = ${ROW_WAITING} then q.run_at end as "nextAt", q.failures as attempts, null as route
  from sync_job q ${JOIN_OWNERS('q.account_id')}
  where q.id = any($1::uuid[])`;

const TEXTS: Readonly<Record<JobKind, string>> = {
  message: STATUSES,
  write: STATUSES,
  reminder: REMINDERS,
  sync: SYNCS,
};

/** Reads jobs as lists show them, in the given order. Jobs that are gone are left out. */
export async function readJobs(sql: Sql, found: readonly FoundJob[]): Promise<JobSummary[]> {
  const byText = Map.groupBy(found, ({ kind }) => TEXTS[kind]);
  const rows = new Map<string, JobSummary>();
  for (const [text, jobs] of byText) {
    for (const row of await sql.query<JobSummary>(text, [jobs.map(({ id }) => id)]))
      rows.set(row.id, row);
  }
  return found.flatMap(({ id }) => rows.get(id) ?? []);
}

/** What only one job's page shows. */
export interface JobFacts {
  version: number;
  editedAt: Date | null;
  updatedAt: Date;
  retryLimitAt: Date | null;
  messageId: string | null;
  accepted: string[];
  refused: { email: string; reason: string }[];
  workerId: number | null;
  workerSeenAt: Date | null;
  stoppedUntil: Date | null;
  stopReason: string | null;
}

const STATUS_FACTS = `
  select s.version, s.edited_at as "editedAt", s.updated_at as "updatedAt",
    greatest(coalesce(q.retry_limit_at, s.retry_limit_at), s.send_at) as "retryLimitAt",
    s.message_id as "messageId", coalesce(m.accepted, '{}') as accepted, coalesce(m.refused, '[]') as refused,
    k.id as "workerId", k.seen_at as "workerSeenAt",
    case when s.status in ('pending', 'delayed') and m.id is not null and t.closed_until > now() then t.closed_until end as "stoppedUntil", t.close_reason as "stopReason"
  from job_status s
  left join outbox_message m on m.id = s.id
  left join send_job q on q.id = s.id
  left join provider_job w on w.id = s.id
  left join worker k on k.id = coalesce(q.worker_id, w.worker_id)
  left join account_gate t on t.account_id = s.account_id
  where s.id = $1`;

const otherFacts = (table: string, updatedAt: string, limit: string): string => `
  select 1 as version, null as "editedAt", ${updatedAt} as "updatedAt", ${limit} as "retryLimitAt", null as "messageId",
    '{}'::text[] as accepted, '[]'::json as refused, k.id as "workerId", k.seen_at as "workerSeenAt",
    null as "stoppedUntil", null as "stopReason"
  from ${table} left join worker k on k.id = q.worker_id
  where q.id = $1`;

const FACTS: Readonly<Record<JobKind, string>> = {
  message: STATUS_FACTS,
  write: STATUS_FACTS,
  reminder: otherFacts(
    '(select r.id, r.updated_at, r.expires_at, j.worker_id from reminder r left join reminder_job j on j.id = r.id) q',
    'q.updated_at',
    'q.expires_at',
  ),
  sync: otherFacts('sync_job q', 'q.run_at', 'null'),
};

/** Reads what only one job's page shows; `undefined` if the job is gone. */
export async function readFacts(
  sql: Sql,
  id: string,
  kind: JobKind,
): Promise<JobFacts | undefined> {
  return (await sql.query<JobFacts>(FACTS[kind], [id]))[0];
}

/** Whether a job in this state still has something to do. */
export function isOpen(state: JobStateName): boolean {
  return state === 'pending' || state === 'delayed';
}
