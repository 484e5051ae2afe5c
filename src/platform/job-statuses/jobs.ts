import { columnsOf, type Sql } from '../database/sql.ts';
import { recordChanges } from '../changes/change-log.ts';
import { InvalidInputError } from '../base/errors/domain-error.ts';
import { firstIdAt } from '../base/ids/ids.ts';
import { sourcesOf } from '../base/state/transitions.ts';
import { storable } from '../base/text/storable.ts';
import type { RefusedRecipient } from '../base/errors/provider-error.ts';
import {
  JOB_TRANSITIONS,
  type JobAction,
  type JobState,
  type SendRoute,
  STATES_WITH_REASON,
} from './job-status.ts';

/** SQL: opens the jobs in the rows of `given` (id, account_id, action, object, object_id, at). */
export const OPEN_JOBS = `
  insert into job_status (id, account_id, action, object, object_id, status, created_at, updated_at)
  select id, account_id, action, object, object_id, 'pending', at, at from given`;

export interface JobMove {
  id: string;
  /** `pending`: what was delayed has got a new time. Nobody is told of that. */
  to: JobState;
  /** Required for delayed, failed and cancelled; forbidden otherwise. */
  reason?: string;
  /** Which way a sent message went; absent: unchanged. */
  route?: SendRoute;
  /** Recipients who have refused a message for good: told with the move, the first 100 of them. */
  refused?: readonly RefusedRecipient[];
  /** Nobody is notified: who asked for it is told in the answer. Default false. */
  quiet?: boolean;
}

interface MovedRow {
  id: string;
  accountId: string;
  applicationId: string;
  action: string;
  object: string;
  objectId: string | null;
  from: JobState;
  status: JobState;
  reason: string | null;
  /** Unix seconds; text where the ORM reads it. */
  sendAt: string | number | null;
  originalSendAt: string | number | null;
  messageId: string | null;
  threadId: string | null;
  version: number;
}

/*
 * No joins: what belongs to a job is found by its place among the ids. The planner takes the lists for ten rows, and a table that has
 * few jobs yet for one, and would compare each with each, or read all of them.
 */
const given = (parameter: string) => `(${parameter}::text[])[array_position($1::uuid[], s.id)]`;

const MOVE = `
  with held as materialized (
    select s.id, s.status as before from job_status s
    where s.id = any($1::uuid[]) and s.status = any(string_to_array(${given('$4')}, ','))
    order by s.id for update of s)
  update job_status s set status = ${given('$2')}, reason = ${given('$3')}, route = coalesce(${given('$6')}, s.route), updated_at = $5
  where s.id = any(array(select id from held))
  returning s.id, s.account_id as "accountId", (select g.application_id from "grant" g where g.id = s.account_id) as "applicationId",
    s.action, s.object, s.object_id as "objectId",
    (array(select before from held))[array_position(array(select id from held), s.id)] as "from", s.status, s.reason,
    floor(extract(epoch from s.send_at))::bigint as "sendAt", floor(extract(epoch from s.original_send_at))::bigint as "originalSendAt",
    s.message_id as "messageId", s.thread_id as "threadId", s.version`;

const seconds = (value: string | number | null): number | null =>
  value === null ? null : Number(value);

/** A notification stays a small one, however many recipients have refused. */
const MOST_TOLD = 100;
const MOST_CHARACTERS = 500;

function extras(row: MovedRow, refused: readonly RefusedRecipient[]): Record<string, unknown> {
  const told = refused.slice(0, MOST_TOLD).map(({ email, reason }) => ({
    email,
    reason: storable(reason, MOST_CHARACTERS),
  }));
  return {
    ...(STATES_WITH_REASON.includes(row.status) ? { reason: row.reason } : {}),
    send_at: seconds(row.sendAt),
    original_send_at: seconds(row.originalSendAt),
    ...(told.length > 0 ? { refused: told } : {}),
  };
}

/** `object_data.attributes` of a job notification (api facts 10.4). */
function attributes(
  row: MovedRow,
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
 * The one function that performs moves of jobs (spec 3.1): state and reason, the change log and the job.*
 * notifications, in the caller's transaction and two round trips. A move the table does not allow is not made and not an
 * error: its job was settled by somebody else.
 * @param moves some hundreds at most, each of another job: the time it takes grows faster than their number
 * @returns ids that moved; the others were already where no move leads there
 */
export async function moveJobs(sql: Sql, moves: readonly JobMove[], at: Date): Promise<string[]> {
  if (moves.length === 0) return [];
  for (const { to, reason } of moves) {
    if (STATES_WITH_REASON.includes(to) !== Boolean(reason))
      throw new InvalidInputError(`a ${to} job ${reason ? 'has no' : 'needs a'} reason`);
  }
  const rows = await sql.query<MovedRow>(MOVE, [
    moves.map(({ id }) => id),
    moves.map(({ to }) => to),
    moves.map(({ reason }) => (reason ? storable(reason) : null)),
    moves.map(({ to }) => sourcesOf<JobState>(JOB_TRANSITIONS, to).join(',')),
    at,
    moves.map(({ route }) => route ?? null),
  ]);
  const quiet = new Set(moves.flatMap((move) => (move.quiet ? [move.id] : [])));
  const told = rows.filter(
    ({ id, from, status }) => from !== status && status !== 'pending' && !quiet.has(id),
  );
  const refused = new Map(
    moves.flatMap((move) => (move.refused?.length ? [[move.id, move.refused]] : [])),
  );
  await recordChanges(
    sql,
    told.map((row) => ({
      applicationId: row.applicationId,
      accountId: row.accountId,
      object: 'job_status' as const,
      objectId: row.id,
      event: 'modify' as const,
      at,
      webhook: {
        trigger: `job.${row.status}` as 'job.successful',
        dedupe: `job:${row.id}:${row.status}:${row.version}`,
        attributes: attributes(row, refused.get(row.id)),
      },
    })),
  );
  return rows.map(({ id }) => id);
}

/** Evidence of one attempt. */
export interface AttemptRecord {
  id: string;
  jobId: string;
  attempt: number;
  startedAt: Date;
  endedAt: Date;
  outcome: 'sent' | 'not-sent' | 'unknown';
  /** Which way it went; null where there is no choice, or it did not come to that. */
  route: SendRoute | null;
  phase: string | null;
  code: string | null;
  detail: string | null;
  nextAt: Date | null;
  rule: string | null;
}

const ATTEMPTS = `
  insert into job_attempt (id, job_id, attempt, started_at, ended_at, outcome, phase, code, detail, next_at, rule,
                           route)
  select * from unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::timestamptz[], $5::timestamptz[], $6::text[],
    $7::text[], $8::text[], $9::text[], $10::timestamptz[], $11::text[], $12::text[])`;

/** Appends to the timelines of jobs, in the caller's transaction. */
export async function recordAttempts(sql: Sql, attempts: readonly AttemptRecord[]): Promise<void> {
  if (attempts.length === 0) return;
  await sql.query(ATTEMPTS, [
    ...columnsOf(
      attempts,
      'id',
      'jobId',
      'attempt',
      'startedAt',
      'endedAt',
      'outcome',
      'phase',
      'code',
    ),
    attempts.map(({ detail }) => (detail === null ? null : storable(detail))),
    ...columnsOf(attempts, 'nextAt', 'rule', 'route'),
  ]);
}

const RETHREAD = `
  update job_status j set thread_id = x.into_id from unnest($2::uuid[], $3::uuid[]) x(from_id, into_id)
  where j.account_id = $1 and j.thread_id = x.from_id`;

/** Jobs of sent messages name the conversations that theirs have become part of. */
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

/** Timelines are kept this long: longer than any job is tried. */
const ATTEMPT_RETENTION_MS = 30 * 24 * 3_600_000;

// Ids sort by time, so the oldest rows are one range of the primary key.
const PRUNE = `
  delete from job_attempt where id in (select id from job_attempt where id < $1 order by id limit 5000) returning 1`;

/**
 * Deletes attempts of jobs older than 30 days: at most 5000, oldest first. Jobs themselves stay. Safe to run at any time and
 * by several processes.
 * @returns how many rows went; 0 when there is nothing left to delete
 */
export async function pruneJobAttempts(sql: Sql, now: Date): Promise<number> {
  const before = firstIdAt(new Date(now.getTime() - ATTEMPT_RETENTION_MS));
  return (await sql.query(PRUNE, [before])).length;
}

// Jobs are listed by their ids, which grow with time: of those made long ago hardly one ends now.
const ENDED = `
  select object_id as "objectId" from job_status
  where account_id = $1 and id >= $2 and updated_at >= $3 and status in ('successful', 'failed', 'cancelled')
    and action = any($4::text[]) and ($5::uuid[] is null or object_id = any($5::uuid[]))`;
/** A job that was open for longer than this is not looked for. */
const LONGEST_JOB_MS = 60 * 60_000;
/** Clocks of two processes differ by so much at most. */
const CLOCK_SLACK_MS = 1_000;

/**
 * Objects with a job of these actions that has ended since an instant. Ask after the open jobs, so that none is missed in
 * between.
 * @param among absent: all objects
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
  const rows = await sql.query<{ objectId: string }>(ENDED, [
    accountId,
    oldest,
    since,
    actions,
    among ?? null,
  ]);
  return rows.map(({ objectId }) => objectId);
}
