import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import { reopenQuarantined, transitionJobs } from '../../../job-statuses/jobs.ts';
import {
  BEING_CHANGED,
  NOT_YET_DUE,
  ON_ITS_WAY,
  sortOut,
  type Steered,
  UNKNOWN_OUTCOME,
} from '../../../job-statuses/steered.ts';
import { giveSlotBack, letOneThrough } from '../../../platform/work/gates/rate-gates.ts';
import { wakeAfterCommit } from '../../../platform/work/signals.ts';
import { cancellationReason } from './cancellation-reason.ts';
import { ON_HOLD_REASON } from './sends-of-account.ts';
import { OVERDUE_SECONDS, SINGLE_ATTEMPT_SECONDS } from '../send/send-attempt.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';
import type { JobStatus } from '../../../job-statuses/job-status.entity.ts';
import type { RowOf, OrNull } from '../../../platform/database/rows/row-of.ts';
import type { SendJob } from '../send-job.entity.ts';

/*
 * What operators do with messages. All functions run in the caller's transaction and take at most
 * some hundreds of ids. They lock rows as the sender does and skip rows that it has locked.
 */

/** A job of a message, with its queue row if it has one. */
export interface SeenSend
  extends
    RowOf<JobStatus, 'id' | 'accountId' | 'status' | 'reason'>,
    OrNull<RowOf<SendJob, 'held' | 'ambiguous'>> {
  action: string;
  /** Whether there is a queue row, and whether this transaction has locked it. */
  queued: boolean;
  locked: boolean;
  /** These are `null` without a locked queue row. */
  running: boolean | null;
  early: boolean | null;
  paced: boolean | null;
  /** Whether the request that sends it may still run. */
  inRequest: boolean | null;
  /** Whether its deadline has passed. */
  over: boolean | null;
  /** Whether looking the message up now cannot be too early for the Sent folder. */
  mayLookUp: boolean;
  accepted: string[];
  hasContent: boolean;
}

/*
 * A look-up that comes too early finds nothing, and a second copy would follow. So the mail server
 * must have had five minutes to file the copy: look-ups began that long ago, and nothing was handed
 * over since. An attempt whose worker died has no line, and leaves a gap in the numbers.
 */
const MAY_LOOK_UP = `exists (
  select from job_attempt l
  where l.job_id = j.id and l.route is null and l.ended_at <= now() - interval '5 minutes'
    and j.attempt - l.attempt + 1 = (
      select count(*) from job_attempt k where k.job_id = j.id and k.id >= l.id and k.route is null))`;

/** Until when a message of unknown outcome may be sent again: `resendLimitOf`. */
const SEND_BY = `
  case when not j.attempt_assumed then j.retry_limit_at
    when j.retry_limit_at > j.due_at then j.retry_limit_at + interval '${OVERDUE_SECONDS} s'
    else j.due_at + interval '${SINGLE_ATTEMPT_SECONDS + OVERDUE_SECONDS} s' end`;

const see = (lock: string): string => `
  with locked as materialized (
    select * from send_job where id = any($1::uuid[]) order by id ${lock})
  select s.id, s.account_id as "accountId", s.action, s.status, s.reason,
    exists (select from send_job q where q.id = s.id) as queued, j.id is not null as locked,
    j.state <> ${ROW_WAITING} as running, j.due_at > now() as early, j.held, j.ambiguous,
    j.attempt = 0 and j.run_at > j.due_at and j.run_at > now() as paced,
    j.fence = 0 and j.ambiguous as "inRequest", ${SEND_BY} <= now() as over,
    coalesce(${MAY_LOOK_UP}, false) as "mayLookUp", coalesce(m.accepted, '{}') as accepted, m.id is not null as "hasContent"
  from job_status s left join locked j on j.id = s.id left join outbox_message m on m.id = s.id
  where s.id = any($1::uuid[])
  order by s.id`;
const SEE = see('');
const SEE_AND_LOCK = see('for update skip locked');

/** Reads messages for an action, and locks their queue rows unless it is a dry run. */
export const seen = (sql: Sql, ids: readonly string[], dryRun: boolean): Promise<SeenSend[]> =>
  sql.query<SeenSend>(dryRun ? SEE : SEE_AND_LOCK, [ids]);

/** Why a message without a locked queue row that waits is left alone. */
export function notWaiting({ status, queued, locked, running }: SeenSend): string | null {
  if (status !== 'pending' && status !== 'delayed') return `it has ended: ${status}`;
  if (!queued) return 'it has nothing left to send';
  if (!locked) return BEING_CHANGED;
  return running ? ON_ITS_WAY : null;
}

const HURRY = `update send_job set run_at = now() where id = any($1::uuid[]) and state = ${ROW_WAITING}`;

/**
 * Makes delayed messages due now, and lets one message of each account through its circuit breaker.
 * A message never leaves before its send time. A message whose outcome is unknown is looked up
 * first, as always.
 */
export async function retrySends(
  sql: Sql,
  ids: readonly string[],
  dryRun: boolean,
): Promise<Steered> {
  const { free, skipped } = sortOut(await seen(sql, ids, dryRun), (send) => {
    const reason = notWaiting(send);
    if (reason !== null) return reason;
    if (send.held) return ON_HOLD_REASON;
    if (send.early) return NOT_YET_DUE;
    return send.ambiguous && !send.mayLookUp ? UNKNOWN_OUTCOME : null;
  });
  const changed = idsOf(free);
  if (dryRun || changed.length === 0) return { changed, skipped };
  await sql.query(HURRY, [changed]);
  await letOneThrough(sql, [...new Set(free.map(({ accountId }) => accountId))]);
  wakeAfterCommit(sql, 'send');
  return { changed, skipped };
}

const REMOVE = `delete from send_job where id = any($1::uuid[]) and state = ${ROW_WAITING}`;

/**
 * Cancels messages that wait. What had not left never leaves.
 * @param why shown to users as part of the reason; `null` for none
 */
export async function cancelSends(
  sql: Sql,
  ids: readonly string[],
  { why, at, dryRun }: { why: string | null; at: Date; dryRun: boolean },
): Promise<Steered> {
  const { free, skipped } = sortOut(await seen(sql, ids, dryRun), (send) => {
    return notWaiting(send) ?? (send.ambiguous ? UNKNOWN_OUTCOME : null);
  });
  const changed = idsOf(free);
  if (dryRun || changed.length === 0) return { changed, skipped };
  await sql.query(REMOVE, [changed]);
  const by = why === null ? 'cancelled by an operator' : `cancelled by an operator: ${why}`;
  await transitionJobs(
    sql,
    free.map(({ id, accepted }) => ({
      id,
      to: 'cancelled',
      reason: cancellationReason(by, accepted),
    })),
    at,
  );
  const paced = free.filter((send) => send.paced).map(({ accountId }) => accountId);
  for (const accountId of paced.toSorted()) await giveSlotBack(sql, accountId);
  return { changed, skipped };
}

/** A released message may be sent for this long, unless its own deadline is later. */
const RELEASED_HOURS = 24;

/*
 * The attempts in which workers died may have sent the message. So its outcome is unknown, and the
 * next attempt begins with a look-up, which goes back to the send time: the due time stays. The
 * fencing token begins at 1: with 0 the row would look like a send within a request.
 */
const REQUEUE = `
  insert into send_job (id, account_id, run_at, due_at, retry_limit_at, fence, attempt, ambiguous)
  select s.id, s.account_id, now(), coalesce(s.send_at, s.created_at), greatest(s.retry_limit_at, now() + interval '${RELEASED_HOURS} hours'), 1,
    coalesce((select max(a.attempt) from job_attempt a where a.job_id = s.id), 0), true
  from job_status s where s.id = any($1::uuid[])`;

const QUARANTINED = /^quarantined:/;
const RELEASED_REASON =
  'released from quarantine by an operator; it is looked up before it is sent';

/**
 * Gives messages in quarantine another chance: each is looked up first, and sent if it was not
 * sent before, until its deadline or for 24 hours. `POST /send` is not repeated, because its caller
 * knows that it failed.
 */
export async function releaseSends(
  sql: Sql,
  ids: readonly string[],
  { at, dryRun }: { at: Date; dryRun: boolean },
): Promise<Steered> {
  const { free, skipped } = sortOut(await seen(sql, ids, dryRun), (send) => {
    if (send.status !== 'failed' || !QUARANTINED.test(send.reason ?? ''))
      return `it is not in quarantine: ${send.status}`;
    if (send.action === 'send_message')
      return 'POST /send answered its client that it failed; the client sends it again';
    return send.hasContent ? null : 'its content is no longer stored';
  });
  const wanted = idsOf(free);
  if (dryRun || wanted.length === 0) return { changed: wanted, skipped };
  const changed = await reopenQuarantined(sql, wanted, RELEASED_REASON, at);
  const lost = wanted.filter((id) => !changed.includes(id));
  await sql.query(REQUEUE, [changed]);
  wakeAfterCommit(sql, 'send');
  return { changed, skipped: [...skipped, ...lost.map((id) => ({ id, reason: BEING_CHANGED }))] };
}
