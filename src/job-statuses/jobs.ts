import { afterCommit, type Sql } from '../platform/database/sql.ts';
import { reportIncident } from '../platform/logs/incidents.ts';
import { recordChanges } from '../platform/changes/change-log.ts';
import { InvalidInputError } from '../platform/base/errors/domain-error.ts';
import { firstIdAt } from '../platform/base/ids/ids.ts';
import { sourcesOf } from '../platform/base/state/transitions.ts';
import { storable } from '../platform/base/text/storable.ts';
import type { RefusedRecipient } from '../platform/base/errors/provider-error.ts';
import {
  JOB_TRANSITIONS,
  MAY_HAVE_BEEN_SENT,
  type JobAction,
  type JobState,
  QUARANTINE_PREFIX,
  type SendRoute,
  STATES_WITH_REASON,
} from './job-status.ts';
import type { JobStatus } from './job-status.entity.ts';
import type { RowOf, NotNull } from '../platform/database/rows/row-of.ts';

/**
 * SQL that creates job statuses for the rows of `given` (id, account_id, action, object, object_id,
 * at).
 */
export const OPEN_JOBS = `
  insert into job_status (id, account_id, action, object, object_id, status, created_at, updated_at)
  select id, account_id, action, object, object_id, 'pending', at, at from given`;

export interface JobTransition {
  id: string;
  /** `pending` means that a delayed job got a new time. This transition sends no webhook. */
  to: JobState;
  /** Required for delayed, failed and cancelled; not allowed for other states. */
  reason?: string;
  /** The server that was asked, for the log; `null` if none was. */
  server?: string | null;
  /** Route of a sent message; absent: unchanged. */
  route?: SendRoute;
  /**
   * Recipients that have refused a message permanently. The webhook contains the first 100 of them.
   */
  refused?: readonly RefusedRecipient[];
  /**
   * True to send no webhook, because the response reports the result to the client. Default: false.
   */
  quiet?: boolean;
  /** Span of the attempt, under which the webhook is delivered. Default: the current span. */
  traceparent?: string | null | undefined;
}

interface ChangedRow extends RowOf<
  JobStatus,
  | 'id'
  | 'accountId'
  | 'object'
  | 'objectId'
  | 'status'
  | 'reason'
  | 'messageId'
  | 'threadId'
  | 'version'
> {
  applicationId: string;
  action: string;
  from: JobState;
  /** Unix seconds; a string if the ORM reads the row. */
  sendAt: string | number | null;
  originalSendAt: string | number | null;
}

/*
 * No joins: the values of a job are found by its position among the ids. The planner estimates ten
 * rows for each array, and one row for a table with few jobs. With a join it would compare every
 * pair or read the whole table.
 */
const given = (parameter: string) => `(${parameter}::text[])[array_position($1::uuid[], s.id)]`;

/** Columns of a `ChangedRow` but its earlier state. */
const CHANGED = `
    s.id, s.account_id as "accountId", (select g.application_id from "grant" g where g.id = s.account_id) as "applicationId",
    s.action, s.object, s.object_id as "objectId", s.status, s.reason,
    floor(extract(epoch from s.send_at))::bigint as "sendAt", floor(extract(epoch from s.original_send_at))::bigint as "originalSendAt",
    s.message_id as "messageId", s.thread_id as "threadId", s.version`;

const MOVE = `
  with locked as materialized (
    select s.id, s.status as before from job_status s
    where s.id = any($1::uuid[]) and s.status = any(string_to_array(${given('$4')}, ','))
    order by s.id for update of s)
  update job_status s set status = ${given('$2')}, reason = ${given('$3')}, route = coalesce(${given('$6')}, s.route), updated_at = $5
  where s.id = any(array(select id from locked))
  returning ${CHANGED},
    (array(select before from locked))[array_position(array(select id from locked), s.id)] as "from"`;

const seconds = (value: string | number | null): number | null =>
  value === null ? null : Number(value);

/** Keeps the webhook small even if many recipients have refused. */
const MOST_SHOWN = 100;
const MOST_CHARACTERS = 500;

function extras(row: ChangedRow, refused: readonly RefusedRecipient[]): Record<string, unknown> {
  const shown = refused.slice(0, MOST_SHOWN).map(({ email, reason }) => ({
    email,
    reason: storable(reason, MOST_CHARACTERS),
  }));
  return {
    ...(STATES_WITH_REASON.includes(row.status) ? { reason: row.reason } : {}),
    send_at: seconds(row.sendAt),
    original_send_at: seconds(row.originalSendAt),
    ...(shown.length > 0 ? { refused: shown } : {}),
  };
}

/** `object_data.attributes` of a `job.*` webhook. */
function attributes(
  row: ChangedRow,
  refused: readonly RefusedRecipient[] = [],
): Record<string, unknown> {
  const sent = row.status === 'successful';
  return {
    action: row.action,
    job_status_id: row.id,
    ...(row.action === 'new_outbox'
      ? { message_id: sent ? row.messageId : null, thread_id: sent ? row.threadId : null }
      : { object: row.object, id: row.objectId }),
    ...(STATES_WITH_REASON.includes(row.status) || refused.length > 0
      ? { extras: extras(row, refused) }
      : {}),
  };
}

/**
 * Changes the states of jobs; no other function does. Writes state and reason and queues the
 * `job.*` webhooks, in the caller's transaction and two round trips. A transition that
 * `JOB_TRANSITIONS` does not allow is skipped without an error: another worker or request has
 * settled the job.
 * @param moves at most some hundreds, each of a different job: the time grows faster than their
 *   number
 * @returns ids of the jobs whose transition was made
 */
export async function transitionJobs(
  sql: Sql,
  moves: readonly JobTransition[],
  at: Date,
): Promise<string[]> {
  if (moves.length === 0) return [];
  for (const { to, reason } of moves) {
    if (STATES_WITH_REASON.includes(to) !== Boolean(reason))
      throw new InvalidInputError(
        `a job in state ${to} ${reason ? 'must not have' : 'must have'} a reason`,
      );
  }
  const rows = await sql.query<ChangedRow>(MOVE, [
    moves.map(({ id }) => id),
    moves.map(({ to }) => to),
    moves.map(({ reason }) => (reason ? storable(reason) : null)),
    moves.map(({ to }) => sourcesOf<JobState>(JOB_TRANSITIONS, to).join(',')),
    at,
    moves.map(({ route }) => route ?? null),
  ]);
  const quiet = new Set(moves.flatMap((move) => (move.quiet ? [move.id] : [])));
  const notified = rows.filter(
    ({ id, from, status }) => from !== status && status !== 'pending' && !quiet.has(id),
  );
  const made = new Map(moves.map((move) => [move.id, move]));
  await notify(sql, notified, made, at);
  afterCommit(sql, () => reportTroubles(rows, made));
  return rows.map(({ id }) => id);
}

/** Changes failed jobs. $1 ids, $2 new status, $3 its reason, $4 time. */
const correct = (condition: string): string => `
  with locked as materialized (
    select id from job_status
    where id = any($1::uuid[]) and status = 'failed' and ${condition}
    order by id for update)
  update job_status s set status = $2, reason = $3, version = version + 1, updated_at = $4
  where s.id = any(array(select id from locked))
  returning ${CHANGED}, 'failed' as "from"`;
const REOPEN = correct(`reason like '${QUARANTINE_PREFIX}%'`);
const SETTLE = correct(`reason ~ '${MAY_HAVE_BEEN_SENT}'`);

/**
 * Makes jobs in quarantine open again, and queues their webhooks `job.delayed`, in the caller's
 * transaction. Their later webhooks are sent although there were earlier ones of the same state.
 * @returns ids of the jobs that were in quarantine
 */
export async function reopenQuarantined(
  sql: Sql,
  ids: readonly string[],
  reason: string,
  at: Date,
): Promise<string[]> {
  const rows = await sql.query<ChangedRow>(REOPEN, [ids, 'delayed', reason, at]);
  await notify(sql, rows, new Map(), at);
  return rows.map(({ id }) => id);
}

/**
 * Corrects a failed job whose message may have been sent, and queues its webhook, in the caller's
 * transaction.
 * @param notSent reason of the failure, now that the message was certainly not sent; `null` if it
 *   was sent: the job becomes successful
 * @returns false if the job did not fail with an unknown outcome
 */
export async function settleFailed(
  sql: Sql,
  id: string,
  notSent: string | null,
  at: Date,
): Promise<boolean> {
  const to = notSent === null ? 'successful' : 'failed';
  const rows = await sql.query<ChangedRow>(SETTLE, [[id], to, notSent && storable(notSent), at]);
  await notify(sql, rows, new Map(), at);
  return rows.length > 0;
}

/** Records changed states in the change log, and queues their webhooks. */
async function notify(
  sql: Sql,
  notified: readonly ChangedRow[],
  made: ReadonlyMap<string, Pick<JobTransition, 'refused' | 'traceparent'>>,
  at: Date,
): Promise<void> {
  await recordChanges(
    sql,
    notified.map((row) => ({
      applicationId: row.applicationId,
      accountId: row.accountId,
      object: 'job_status' as const,
      objectId: row.id,
      event: 'modify' as const,
      at,
      traceparent: made.get(row.id)?.traceparent,
      webhook: {
        trigger: `job.${row.status}` as 'job.successful',
        dedupe: `job:${row.id}:${row.status}:${row.version}`,
        attributes: attributes(row, made.get(row.id)?.refused),
      },
    })),
  );
}

const SENDS: readonly string[] = ['new_outbox', 'send_message', 'send_invitation'];

/** Writes a log line for each job that has failed or is delayed. */
function reportTroubles(
  rows: readonly ChangedRow[],
  made: ReadonlyMap<string, Pick<JobTransition, 'server' | 'traceparent'>>,
): void {
  for (const { id, accountId, action, status, reason } of rows) {
    if (status !== 'failed' && status !== 'delayed') continue;
    const kind = `${SENDS.includes(action) ? 'send' : 'write'}.${status}` as const;
    const { server, traceparent } = made.get(id) ?? {};
    const fields = { account: accountId, job: id, ...(server ? { server } : {}) };
    reportIncident(kind, fields, reason, traceparent);
  }
}

const RETHREAD = `
  update job_status j set thread_id = x.into_id from unnest($2::uuid[], $3::uuid[]) x(from_id, into_id)
  where j.account_id = $1 and j.thread_id = x.from_id`;

/** Updates the thread ids of sent messages whose threads were merged into others. */
export async function rethreadJobs(
  sql: Sql,
  accountId: string,
  merged: readonly { from: string; into: string }[],
): Promise<void> {
  await sql.query(RETHREAD, [
    accountId,
    merged.map(({ from }) => from),
    merged.map(({ into }) => into),
  ]);
}

const FORGET_MESSAGE = `
  update job_status set message_id = null, thread_id = null,
    object_id = case when object = 'message' then null else object_id end
  where id = $1 and account_id = $2`;

/** Removes the message ids of a sent message that has no copy in its sender's mailbox. */
export async function forgetMessageOfJob(sql: Sql, accountId: string, id: string): Promise<void> {
  await sql.query(FORGET_MESSAGE, [id, accountId]);
}

// Ids grow with time, so a lower limit on the id skips old jobs, which have ended before.
const ENDED = `
  select object_id as "objectId" from job_status
  where account_id = $1 and id >= $2 and updated_at >= $3 and status in ('successful', 'failed', 'cancelled')
    and action = any($4::text[]) and ($5::uuid[] is null or object_id = any($5::uuid[]))`;
/**
 * Jobs that were open for longer than this are not found. It is longer than the attempts of a
 * provider write can take (provider-write-policy.ts).
 */
const LONGEST_JOB_MS = 24 * 60 * 60_000;
/** Maximum difference between the clocks of two processes. */
const CLOCK_SLACK_MS = 1_000;

/**
 * Objects with a job of these actions that has ended since `instant`. Query the open jobs first,
 * then call this function; otherwise a job that ends in between is missed.
 * @param among only these objects; absent: all objects
 */
export async function objectsOfEndedJobs(
  sql: Sql,
  accountId: string,
  actions: readonly JobAction[],
  instant: Date,
  among?: readonly string[],
): Promise<string[]> {
  if (among?.length === 0) return [];
  const since = new Date(instant.getTime() - CLOCK_SLACK_MS);
  const oldest = firstIdAt(new Date(since.getTime() - LONGEST_JOB_MS));
  const rows = await sql.query<NotNull<RowOf<JobStatus, 'objectId'>>>(ENDED, [
    accountId,
    oldest,
    since,
    actions,
    among ?? null,
  ]);
  return rows.map(({ objectId }) => objectId);
}
