import { newId } from '../../../platform/base/ids/ids.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import { wakeAfterCommit } from '../../../platform/work/signals.ts';
import { type AttemptRecord, recordAttempts } from '../../../job-statuses/job-attempts.ts';
import { MAY_HAVE_BEEN_SENT } from '../../../job-statuses/job-status.ts';
import { settleFailed, transitionJobs } from '../../../job-statuses/jobs.ts';
import { BEING_CHANGED, type Steered } from '../../../job-statuses/steered.ts';
import { discardSentDrafts, type SentDraft } from '../../drafts/sent-drafts.ts';
import { NOTHING_TO_SEND, type SendJobRow } from '../send/send-attempt.ts';
import { recordSends } from '../record/send-recording.ts';
import { ON_HOLD_REASON } from './sends-of-account.ts';
import { notWaiting, seen, type SeenSend } from './steered-sends.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';
import type { SendJob } from '../send-job.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/** A decision about an unknown outcome. */
export interface Settlement {
  /** `sent`: everybody has it, except recipients who refused it. */
  outcome: 'sent' | 'not-sent';
  /** Words of the operator. Users see them in the timeline. */
  why: string;
  at: Date;
  dryRun: boolean;
}

const IN_REQUEST = 'the request that sends it has not ended';
const FAILED_UNKNOWN = new RegExp(MAY_HAVE_BEEN_SENT);

/** Why a message cannot be settled; `null` if it can. */
function refusal(send: SeenSend): string | null {
  if (send.status === 'failed')
    return FAILED_UNKNOWN.test(send.reason ?? '')
      ? null
      : 'it was certainly not sent: its outcome is known';
  const reason = notWaiting(send);
  if (reason !== null) return reason;
  if (!send.ambiguous) return 'no attempt has an unknown outcome';
  return send.inRequest ? IN_REQUEST : null;
}

/**
 * Decides whether a message of unknown outcome was sent, in the caller's transaction. Its job goes
 * on as after a look-up with this result:
 *
 * - `sent`: it becomes successful, also if it had failed. No copy is filed.
 * - `not-sent`: it is sent again at once. If its deadline has passed, it fails. If it had failed
 *   already, its reason changes.
 */
export async function settleSend(
  sql: Sql,
  id: string,
  { outcome, why, at, dryRun }: Settlement,
): Promise<Steered> {
  const [send] = await seen(sql, [id], dryRun);
  if (!send) return { changed: [], skipped: [] };
  const reason = refusal(send);
  if (reason !== null) return { changed: [], skipped: [{ id, reason }] };
  const settled = { changed: [id], skipped: [] };
  if (dryRun) return settled;
  const notSent = outcome === 'sent' ? null : `not sent, as an operator found out: ${why}`;
  if (send.status === 'failed') {
    if (await settleEnded(sql, id, { outcome, why, notSent, at })) return settled;
    return { changed: [], skipped: [{ id, reason: BEING_CHANGED }] };
  }
  if (notSent !== null && !send.over) await sendAgain(sql, send, why, at);
  else await endOpen(sql, id, { outcome, why, notSent, at });
  return settled;
}

type Ending = Pick<Settlement, 'outcome' | 'why' | 'at'> & { notSent: string | null };

const DRAFT = `
  select m.draft ->> 'id' as id, (m.draft ->> 'version')::int as version, m.account_id as "accountId",
    g.application_id as "applicationId"
  from outbox_message m join "grant" g on g.id = m.account_id where m.id = $1 and m.draft is not null`;
const LAST_ATTEMPT =
  'select coalesce(max(attempt), 1)::int as attempt from job_attempt where job_id = $1';

async function settleEnded(sql: Sql, id: string, ending: Ending): Promise<boolean> {
  const { at, notSent } = ending;
  if (!(await settleFailed(sql, id, notSent, at))) return false;
  const [last] = await sql.query<{ attempt: number }>(LAST_ATTEMPT, [id]);
  await recordAttempts(sql, [lineOf(id, last?.attempt ?? 1, ending, null)]);
  if (notSent === null) await discardSentDrafts(sql, await sql.query<SentDraft>(DRAFT, [id]), at);
  return true;
}

const TAKE = `
  delete from send_job where id = $1
  returning id, fence, attempt, ambiguous, account_id as "gateId", due_at as "dueAt", 0 as "gateFailures",
    retry_limit_at as "retryLimitAt", route, failures, look_ups as "lookUps", resend_attempt as "resendAttempt",
    put_off as "deferred", attempt_assumed as "attemptAssumed", held, paused`;

async function endOpen(sql: Sql, id: string, ending: Ending): Promise<void> {
  const { at, notSent } = ending;
  const [row] = await sql.query<SendJobRow>(TAKE, [id]);
  if (!row) return;
  const [draft] = await sql.query<SentDraft>(DRAFT, [id]);
  const move =
    notSent === null
      ? ({ id, to: 'successful', route: row.route } as const)
      : ({ id, to: 'failed', reason: notSent } as const);
  const attempt = lineOf(id, row.attempt, ending, null);
  const result = { ...NOTHING_TO_SEND.result, move, attempt, ...(draft ? { draft } : {}) };
  await recordSends(sql, [{ row, next: { kind: 'done' }, result }], at);
}

const SEND_AGAIN = `
  update send_job set ambiguous = false, look_ups = 0, resend_attempt = null, put_off = null,
    attempt_assumed = false, run_at = greatest(now(), due_at)
  where id = $1 and state = ${ROW_WAITING} returning attempt`;

async function sendAgain(sql: Sql, { id, held }: SeenSend, why: string, at: Date): Promise<void> {
  const [row] = await sql.query<RowOf<SendJob, 'attempt'>>(SEND_AGAIN, [id]);
  if (!row) return;
  const reason = held
    ? ON_HOLD_REASON
    : `not sent so far, as an operator found out, so it is sent again: ${why}`;
  await transitionJobs(sql, [{ id, to: 'delayed', reason }], at);
  await recordAttempts(sql, [lineOf(id, row.attempt, { outcome: 'not-sent', why, at }, at)]);
  wakeAfterCommit(sql, 'send');
}

/** The decision in the timeline. It has the number of the last attempt. */
function lineOf(
  jobId: string,
  attempt: number,
  { outcome, why, at }: Pick<Settlement, 'outcome' | 'why' | 'at'>,
  nextAt: Date | null,
): AttemptRecord {
  return {
    id: newId(),
    jobId,
    attempt,
    startedAt: at,
    endedAt: at,
    outcome,
    route: null,
    phase: null,
    code: null,
    detail: `decided by an operator: ${why}`,
    server: null,
    nextAt,
    rule: 'settled',
  };
}
