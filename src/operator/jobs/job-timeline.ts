import type { Sql } from '../../platform/database/sql.ts';
import { firstIdAt } from '../../platform/base/ids/ids.ts';
import { isAbout, queuedEvents } from '../../platform/webhooks/events/queued-events.ts';
import { isOpen, type JobFacts } from './job-rows.ts';
import type { JobAttemptInfo, JobSummary, TimelineEntry } from './job-types.ts';
import type { JobStatus } from '../../job-statuses/job-status.entity.ts';
import type { WebhookAttempt } from '../../platform/webhooks/delivery/webhook-attempt.entity.ts';
import type { WebhookEvent } from '../../platform/webhooks/events/webhook-event.entity.ts';
import type { AuditEntry } from '../../platform/audit/audit-entry.entity.ts';
import type { RowOf, OrNull } from '../../platform/database/rows/row-of.ts';

type AttemptRow = JobAttemptInfo & { detail: string | null };

const ATTEMPTS = `
  select attempt as number, started_at as "startedAt", ended_at as "endedAt", outcome, route, phase, code, detail, server,
    rule, next_at as "nextAt"
  from job_attempt where job_id = $1 order by attempt, id limit 1000`;

// A copy is opened in the transaction that records the send, so its id was made in those minutes.
const COPY = `
  select s.status, s.reason, s.created_at as "createdAt", s.updated_at as "updatedAt" from job_status s
  where s.account_id = $1 and s.id >= $2 and s.id < $3 and s.action = 'save_sent_email' and s.object_id = $4
  order by s.id limit 1`;
const COPY_WINDOW_MS = 5 * 60_000;

// The keys of the events that `transitionJobs` records.
const WEBHOOKS = `
  select e.type as trigger, w.callback_url as url, a.attempt, a.started_at as at, a.http_status as "httpStatus",
    a.outcome, a.detail, a.response, e.created_at as "createdAt", q.run_at as "nextAt"
  from webhook_event e
  left join webhook_attempt a on ${isAbout('a', 'e')}
  left join lateral (
    select x.id as webhook_id, q.run_at from webhook x cross join lateral ${queuedEvents('x.id')} q
    where a.id is null and x.application_id = e.application_id and q.event_id = e.id) q on true
  left join webhook w on w.id = coalesce(a.webhook_id, q.webhook_id)
  where e.dedupe = any($1::text[]) order by coalesce(a.id, e.id) limit 200`;

const OPERATORS = `
  select at, actor_kind as "actorKind", actor_name as "actorName", action, details from audit_entry
  where target_id = $1 and target_type = 'job' order by id limit 200`;

/** Versions of which webhooks are looked for: the latest ones. */
const MOST_VERSIONS = 50;

/** Everything that is recorded about a job, oldest first. */
export async function readTimeline(
  sql: Sql,
  job: JobSummary,
  facts: JobFacts,
): Promise<TimelineEntry[]> {
  const entries = [
    ...beginning(job, facts),
    ...(await attempts(sql, job)),
    ...(await copy(sql, job, facts)),
    ...(await webhooks(sql, job, facts)),
    ...(await operators(sql, job)),
    ...present(job, facts),
  ];
  const time = ({ at }: TimelineEntry) => at?.getTime() ?? Infinity;
  // `toSorted` keeps the order of entries with equal times.
  return entries.toSorted((a, b) => time(a) - time(b) || 0);
}

function beginning(job: JobSummary, { version, editedAt }: JobFacts): TimelineEntry[] {
  const due = job.dueAt && job.dueAt > job.acceptedAt ? `, due at ${job.dueAt.toISOString()}` : '';
  const accepted = entry('accepted', job.acceptedAt, `Accepted${due}.`);
  // A release from quarantine makes a version, too.
  if (editedAt === null) return [accepted];
  return [accepted, entry('edited', editedAt, `Edited; this is version ${version}.`)];
}

async function attempts(sql: Sql, job: JobSummary): Promise<TimelineEntry[]> {
  if (job.kind === 'message' || job.kind === 'write') {
    const rows = await sql.query<AttemptRow>(ATTEMPTS, [job.id]);
    return rows.map(({ detail, ...attempt }) => ({
      kind: isLookUp(attempt) ? 'look-up' : 'attempt',
      at: attempt.startedAt,
      text: `${described(attempt)}${next(attempt)}.`,
      said: detail,
      attempt,
    }));
  }
  if (job.attempts === 0 || !isOpen(job.state)) return [];
  const count =
    job.kind === 'sync' ? `${job.attempts} failures in a row` : `${job.attempts} attempts so far`;
  return [entry('attempt', null, `${count}.`, job.reason)];
}

const LOOK_UP_RULES = ['look-up', 'unknown', 'resend'];

/** A look-up hands nothing over, so it has no route. */
function isLookUp({ route, rule, phase }: JobAttemptInfo): boolean {
  return route === null && phase === null && rule !== null && LOOK_UP_RULES.includes(rule);
}

function described(attempt: JobAttemptInfo): string {
  const { number, outcome, route, phase, server } = attempt;
  const at = server === null ? '' : `, ${server},`;
  if (attempt.rule === 'settled')
    return `An operator decided that it was ${outcome === 'sent' ? 'sent' : 'not sent'}`;
  if (isLookUp(attempt)) return `Attempt ${number} looked for the message at its provider${at}`;
  const over =
    route === null ? at : ` over the ${route === 'relay' ? 'relay' : "account's provider"}${at}`;
  const reached = phase === null ? '' : ` at the step ${phase}`;
  switch (outcome) {
    case 'sent':
      return `Attempt ${number}${over} succeeded`;
    case 'unknown':
      return `Attempt ${number}${over} ended${reached}, and its outcome is unknown`;
    case 'not-sent':
      return `Attempt ${number}${over} failed${reached}`;
  }
}

function next({ nextAt, rule }: JobAttemptInfo): string {
  const why = rule === null ? '' : ` (${rule})`;
  return nextAt === null ? why : `; the next step was set for ${nextAt.toISOString()}${why}`;
}

async function copy(
  sql: Sql,
  job: JobSummary,
  { messageId, updatedAt }: JobFacts,
): Promise<TimelineEntry[]> {
  if (job.kind !== 'message' || job.state !== 'successful' || messageId === null) return [];
  const around = (ms: number) => firstIdAt(new Date(updatedAt.getTime() + ms));
  const [found] = await sql.query<
    RowOf<JobStatus, 'status' | 'reason' | 'createdAt' | 'updatedAt'>
  >(COPY, [job.accountId, around(-COPY_WINDOW_MS), around(COPY_WINDOW_MS), messageId]);
  if (!found) return [];
  if (found.status === 'successful')
    return [entry('copy', found.updatedAt, "The sender's copy was filed in the mailbox.")];
  return [
    entry(
      'copy',
      found.updatedAt,
      `The job that files the sender's copy is ${found.status}.`,
      found.reason,
    ),
  ];
}

interface WebhookRow
  extends
    RowOf<WebhookAttempt, 'httpStatus' | 'detail' | 'response'>,
    RowOf<WebhookEvent, 'createdAt'>,
    OrNull<RowOf<WebhookAttempt, 'attempt' | 'outcome'>> {
  /** When the delivery is due; `null` if it has ended. */
  nextAt: Date | null;
  trigger: string;
  url: string | null;
  at: Date | null;
}

async function webhooks(
  sql: Sql,
  job: JobSummary,
  { version }: JobFacts,
): Promise<TimelineEntry[]> {
  if (job.kind !== 'message' && job.kind !== 'write') return [];
  const versions = Array.from(
    { length: Math.min(version, MOST_VERSIONS) },
    (_, index) => version - index,
  );
  const keys = versions.flatMap((each) =>
    ['delayed', 'successful', 'failed', 'cancelled'].map(
      (status) => `job:${job.id}:${status}:${each}`,
    ),
  );
  return (await sql.query<WebhookRow>(WEBHOOKS, [keys])).map((row) => {
    const { trigger, url, attempt, at, outcome, createdAt, nextAt } = row;
    if (at === null) {
      const waits = nextAt === null ? '' : `; its delivery is due at ${nextAt.toISOString()}`;
      return entry('webhook', createdAt, `${trigger} was recorded${waits}.`);
    }
    const to = url === null ? 'a webhook that was deleted' : url;
    const result = outcome === 'retry' ? 'failed and is repeated' : (outcome ?? '');
    const said = row.response ?? row.detail;
    const status = row.httpStatus === null ? '' : ` (${row.httpStatus})`;
    return entry(
      'webhook',
      at,
      `${trigger} to ${to}: attempt ${attempt} ${result}${status}.`,
      said,
    );
  });
}

async function operators(sql: Sql, job: JobSummary): Promise<TimelineEntry[]> {
  const rows = await sql.query<
    RowOf<AuditEntry, 'at' | 'actorKind' | 'actorName' | 'action'> & {
      /** As an action on a job writes it. */
      details: { reason?: string };
    }
  >(OPERATORS, [job.id]);
  return rows.map(({ at, actorKind, actorName, action, details }) =>
    entry('operator', at, `${action} by ${actorKind} ${actorName}.`, details.reason ?? null),
  );
}

/** What is true of the job now. */
function present(job: JobSummary, facts: JobFacts): TimelineEntry[] {
  if (!isOpen(job.state))
    return [entry('ended', facts.updatedAt, `It has ended: ${job.state}.`, job.reason)];
  if (job.running) {
    const seen = facts.workerSeenAt?.toISOString();
    const by = facts.workerId === null ? 'a worker that is gone' : `worker ${facts.workerId}`;
    return [entry('claimed', null, `Claimed by ${by}${seen ? `, last heard of at ${seen}` : ''}.`)];
  }
  const until = facts.stoppedUntil ?? job.nextAt;
  const why = facts.stoppedUntil ? facts.stopReason : job.reason;
  return [
    entry('waiting', null, until ? `Waiting until ${until.toISOString()}.` : 'Waiting.', why),
  ];
}

function entry(
  kind: TimelineEntry['kind'],
  at: Date | null,
  text: string,
  said: string | null = null,
): TimelineEntry {
  return { kind, at, text, said };
}
