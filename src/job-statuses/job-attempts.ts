import { firstIdAt, newId } from '../platform/base/ids/ids.ts';
import { storable } from '../platform/base/text/storable.ts';
import { columnsOf, type Sql } from '../platform/database/sql.ts';
import type { SendRoute } from './job-status.ts';
import type { JobAttempt } from './job-attempt.entity.ts';
import type { RowOf } from '../platform/database/rows/row-of.ts';
import type { FilledTable } from '../platform/account-fills/fill-account.ts';

/** Where the account of an attempt is found (`account-fills.ts`). */
export const ACCOUNT_OF_ATTEMPTS: FilledTable = {
  table: 'job_attempt',
  key: { id: 'uuid' },
  parent: 'job_status',
  reference: 'job_id',
};

/** One attempt in the timeline of a job status. */
export interface AttemptRecord extends RowOf<
  JobAttempt,
  'id' | 'jobId' | 'endedAt' | 'outcome' | 'route' | 'detail' | 'server' | 'nextAt' | 'rule'
> {
  attempt: number;
  startedAt: Date;
  phase: string | null;
  code: string | null;
}

const GIVEN_ATTEMPTS = `
  unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::timestamptz[], $5::timestamptz[], $6::text[],
    $7::text[], $8::text[], $9::text[], $10::timestamptz[], $11::text[], $12::text[], $13::text[])
  a(id, job_id, attempt, started_at, ended_at, outcome, phase, code, detail, next_at, rule, route, server)`;
const INSERT_ATTEMPTS = `
  insert into job_attempt (id, job_id, attempt, started_at, ended_at, outcome, phase, code, detail, next_at, rule,
                           route, server, account_id)
  select a.*, s.account_id from ${GIVEN_ATTEMPTS} left join job_status s on s.id = a.job_id`;
// The job may have been deleted, and the same result may be written twice.
const INSERT_LATE_ATTEMPTS = `
  ${INSERT_ATTEMPTS} where s.id is not null on conflict (id) do nothing`;

const attemptValues = (attempts: readonly AttemptRecord[]): unknown[] => [
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
  ...columnsOf(attempts, 'nextAt', 'rule', 'route', 'server'),
];

/** Appends attempts to the timelines of jobs, in the caller's transaction. */
export async function recordAttempts(sql: Sql, attempts: readonly AttemptRecord[]): Promise<void> {
  if (attempts.length > 0) await sql.query(INSERT_ATTEMPTS, attemptValues(attempts));
}

/**
 * Appends attempts whose claims were void when they ended, in the caller's transaction. Jobs that
 * are gone and attempts that are recorded already are skipped.
 */
export async function recordLateAttempts(
  sql: Sql,
  attempts: readonly AttemptRecord[],
): Promise<void> {
  if (attempts.length > 0) await sql.query(INSERT_LATE_ATTEMPTS, attemptValues(attempts));
}

/** `detail` of a lost attempt (`recordLostAttempts`). */
const LOST_DETAIL = 'the process that sent the message was lost before it could record the result';

// The attempt began after the one before had ended, and ended before the one that noticed its loss.
const LOST_ATTEMPTS = `
  select x.id as "jobId", n as attempt, least(coalesce(before.next_at, x.due_at), x.started_at) as "startedAt",
    x.started_at as "endedAt", x.route
  from unnest($1::uuid[], $2::int[], $3::timestamptz[], $4::timestamptz[], $5::text[])
    x(id, attempt, due_at, started_at, route)
  cross join lateral (
    select coalesce(max(l.attempt), 0) as attempt, max(l.next_at) as next_at from job_attempt l
    where l.job_id = x.id and l.attempt < x.attempt) before
  cross join lateral generate_series(before.attempt + 1, x.attempt - 1) n`;

/**
 * Adds a line to the timeline for each earlier attempt that has none, because its process was lost.
 * Its times are unknown, so the line has the longest possible time.
 * @param noticed attempts that follow lost ones, or may do so
 */
export async function recordLostAttempts(
  sql: Sql,
  noticed: readonly {
    id: string;
    attempt: number;
    dueAt: Date;
    startedAt: Date;
    route: SendRoute;
  }[],
): Promise<void> {
  if (noticed.length === 0) return;
  const values = columnsOf(noticed, 'id', 'attempt', 'dueAt', 'startedAt', 'route');
  const lost = await sql.query<
    Pick<AttemptRecord, 'jobId' | 'attempt' | 'startedAt' | 'endedAt' | 'route'>
  >(LOST_ATTEMPTS, values);
  const lines = lost.map((one): AttemptRecord => ({
    ...one,
    id: newId(),
    outcome: 'unknown',
    phase: null,
    code: 'outcome-unknown',
    detail: LOST_DETAIL,
    server: null,
    nextAt: one.endedAt,
    rule: 'look-up',
  }));
  await recordAttempts(sql, lines);
}

const FORGET_LOST = `
  delete from job_attempt l
  where l.job_id = any($1::uuid[]) and l.detail = $3
    and l.attempt = ($2::int[])[array_position($1::uuid[], l.job_id)]`;

/** Removes the lines of attempts that seemed lost, because their results are known now. */
export async function forgetLostAttempts(
  sql: Sql,
  found: readonly { id: string; attempt: number }[],
): Promise<void> {
  await sql.query(FORGET_LOST, [...columnsOf(found, 'id', 'attempt'), LOST_DETAIL]);
}

/** How long timelines are kept. This is longer than any job is retried. */
const ATTEMPT_RETENTION_MS = 30 * 24 * 3_600_000;

// Ids sort by time, so the oldest rows are one range of the primary key.
const PRUNE = `
  delete from job_attempt where id in (select id from job_attempt where id < $1 order by id limit 5000) returning 1`;

/**
 * Deletes attempts older than 30 days: at most 5000, oldest first. Job statuses stay. Safe to run
 * at any time and in several processes.
 * @returns the number of deleted attempts; 0 if none is left
 */
export async function pruneJobAttempts(sql: Sql, now: Date): Promise<number> {
  const before = firstIdAt(new Date(now.getTime() - ATTEMPT_RETENTION_MS));
  return (await sql.query(PRUNE, [before])).length;
}
