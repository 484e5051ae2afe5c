import { storable } from '../../../platform/base/text/storable.ts';
import type { LateRow, Settled } from '../../../platform/work/queue/dispatcher.ts';
import { afterCommit, columnsOf, idsOf, type Sql } from '../../../platform/database/sql.ts';
import { discardSentDrafts } from '../../drafts/sent-drafts.ts';
import { markGrantsInvalid } from '../../../accounts/grants/mark-invalid.ts';
import { recordAttempts, recordLostAttempts } from '../../../job-statuses/job-attempts.ts';
import { type JobTransition, transitionJobs } from '../../../job-statuses/jobs.ts';
import type { RefusedRecipient } from '../../../platform/base/errors/provider-error.ts';
import { openSentCopies } from './sent-copies.ts';
import type { SendJobRow, SendResult } from '../send/send-attempt.ts';
import { countAttempts, countEnds } from '../send/send-metrics.ts';
import { recordPauses } from '../steer/sending-pause.ts';
import { remaining, withRefused } from '../send/send-recipients.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';
import type { OutboxMessage } from '../outbox-message.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

const PROGRESS = `
  update send_job j
  set route = x.route, failures = x.failures, look_ups = x.look_ups, resend_attempt = x.resend_attempt,
      put_off = x.put_off, attempt_assumed = x.attempt_assumed
  from unnest($1::uuid[], $2::text[], $3::smallint[], $4::smallint[], $5::smallint[], $6::jsonb[], $7::boolean[])
    x(id, route, failures, look_ups, resend_attempt, put_off, attempt_assumed)
  where j.id = x.id and (j.route, j.failures, j.look_ups, j.resend_attempt, j.put_off, j.attempt_assumed)
    is distinct from (x.route, x.failures, x.look_ups, x.resend_attempt, x.put_off, x.attempt_assumed)`;

const RECIPIENTS = `
  update outbox_message m
  set accepted = array(select jsonb_array_elements_text(x.accepted)), refused = x.refused
  from unnest($1::uuid[], $2::jsonb[], $3::jsonb[]) x(id, accepted, refused)
  where m.id = x.id`;

// The index has only the messages whose provider named the copy.
const STORED_COPY = `
  update outbox_message m set stored_provider_id = x.provider_id
  from unnest($1::uuid[], $2::text[]) x(id, provider_id) where m.id = x.id`;

// A sync pass may have stored the copy before this result, under an id of its own, because the
// provider changed the Message-ID. The job then leads to that copy.
const MIRRORED_COPY = `
  update job_status s set message_id = m.id, thread_id = m.thread_id
  from unnest($1::uuid[], $2::text[]) x(id, provider_id), message m
  where s.id = x.id and m.account_id = s.account_id and m.provider_id = x.provider_id and m.id <> s.message_id`;

const PARTLY_ACCEPTED = `
  select id, envelope -> 'recipients' as recipients, accepted, refused
  from outbox_message where id = any($1::uuid[]) and cardinality(accepted) > 0`;

// A message that was edited meanwhile has a new time, so it is not late.
const STILL_WAITING = `
  select j.id from send_job j join job_status s using (id)
  where j.id = any($1::uuid[]) and j.state = ${ROW_WAITING} and j.attempt = 0 and not j.ambiguous and s.status = 'pending'
    and j.run_at > j.due_at + interval '60 s'
  order by j.id for update of j skip locked`;

/**
 * Limit of the `failures` counter. An overflow would keep the result from being written; beyond
 * this number every wait has its maximum anyway.
 */
const MOST_FAILURES = 30_000;

const withoutDetail = ({ email, reason }: RefusedRecipient) => ({
  email: storable(email),
  reason: storable(reason),
});

/** Writes the results of attempts, in the transaction that settles their queue rows. */
export async function recordSends(
  sql: Sql,
  settled: readonly Settled<SendJobRow, SendResult>[],
  now: Date,
) {
  const results = settled.map(({ result }) => result);
  const refusals = results.flatMap(({ refusal }) => refusal ?? []);
  await markGrantsInvalid(sql, refusals, now);
  await recordProgress(sql, settled);
  await recordPauses(sql, settled);
  await recordRecipients(sql, settled);
  await recordStoredCopies(sql, settled);
  const moves = settled.flatMap(({ result: { move }, traceparent }) =>
    move ? [{ ...move, traceparent }] : [],
  );
  const reported = await withPartlySent(sql, moves);
  const moved = await transitionJobs(sql, reported, now);
  const sent = new Set(reported.flatMap(({ id, to }) => (to === 'successful' ? [id] : [])));
  const drafts = settled.flatMap(({ row, result }) =>
    result.draft && sent.has(row.id) && moved.includes(row.id) ? [result.draft] : [],
  );
  await discardSentDrafts(sql, drafts, now);
  const copies = settled.flatMap(({ row: { id }, result, traceparent }) =>
    result.filesCopy && sent.has(id) && moved.includes(id) ? [{ id, traceparent }] : [],
  );
  await openSentCopies(sql, copies, now);
  const attempts = results.flatMap(({ attempt }) => attempt ?? []);
  await recordLostAttempts(sql, afterUnknown(settled));
  await recordAttempts(sql, attempts);
  afterCommit(sql, () => {
    countAttempts(attempts);
    countEnds(reported.filter(({ id }) => moved.includes(id)));
  });
}

/** Attempts that follow an unknown outcome: the process of the attempt before may have died. */
const afterUnknown = (settled: readonly Settled<SendJobRow, SendResult>[]) =>
  settled.flatMap(({ row, result: { attempt } }) =>
    row.ambiguous && attempt ? [{ ...row, startedAt: attempt.startedAt }] : [],
  );

async function recordProgress(
  sql: Sql,
  settled: readonly Settled<SendJobRow, SendResult>[],
): Promise<void> {
  const rows = settled.flatMap(({ row, result: { progress } }) =>
    progress ? [{ id: row.id, ...progress }] : [],
  );
  if (rows.length === 0) return;
  await sql.query(PROGRESS, [
    ...columnsOf(rows, 'id', 'route'),
    rows.map(({ failures }) => Math.min(failures, MOST_FAILURES)),
    ...columnsOf(rows, 'lookUps', 'resendAttempt'),
    rows.map(({ deferred }) => deferred && JSON.stringify(deferred)),
    rows.map(({ attemptAssumed }) => attemptAssumed),
  ]);
}

async function recordRecipients(sql: Sql, settled: readonly Settled<SendJobRow, SendResult>[]) {
  const rows = settled.flatMap(({ row, result: { recipients } }) =>
    recipients ? [{ id: row.id, ...recipients }] : [],
  );
  if (rows.length === 0) return;
  await sql.query(RECIPIENTS, [
    idsOf(rows),
    rows.map(({ accepted }) => JSON.stringify(accepted.map((email) => storable(email)))),
    rows.map(({ refused }) => JSON.stringify(refused.map(withoutDetail))),
  ]);
}

async function recordStoredCopies(
  sql: Sql,
  settled: readonly Settled<SendJobRow, SendResult>[],
): Promise<void> {
  const rows = settled.flatMap(({ row, result: { stored } }) =>
    stored ? [{ id: row.id, providerId: stored.providerId }] : [],
  );
  if (rows.length === 0) return;
  const values = columnsOf(rows, 'id', 'providerId');
  await sql.query(STORED_COPY, values);
  await sql.query(MIRRORED_COPY, values);
}

/**
 * Turns `failed` into `successful` for messages that some recipients have accepted, whatever ended
 * them. The other recipients are listed as refused, with the reason of the failure.
 */
async function withPartlySent(
  sql: Sql,
  moves: readonly JobTransition[],
): Promise<readonly JobTransition[]> {
  const failed = moves.filter(({ to }) => to === 'failed').map(({ id }) => id);
  if (failed.length === 0) return moves;
  const rows = await sql.query<
    RowOf<OutboxMessage, 'id' | 'accepted' | 'refused'> & { recipients: string[] }
  >(PARTLY_ACCEPTED, [failed]);
  if (rows.length === 0) return moves;
  const partly = new Map(rows.map((row) => [row.id, row]));
  const reported = moves.map((move): JobTransition => {
    const row = move.to === 'failed' ? partly.get(move.id) : undefined;
    if (!row) return move;
    const reason = move.reason ?? '';
    const without = remaining(row.recipients, row).map((email) => ({ email, reason }));
    const { refused } = withRefused(row, without);
    partly.set(move.id, { ...row, refused: [...refused] });
    const { id, route, quiet, traceparent } = move;
    return {
      id,
      traceparent,
      to: 'successful',
      refused,
      ...(route ? { route } : {}),
      ...(quiet ? { quiet } : {}),
    };
  });
  const all = [...partly.values()];
  await sql.query(RECIPIENTS, [
    idsOf(all),
    all.map(({ accepted }) => JSON.stringify(accepted)),
    all.map(({ refused }) => JSON.stringify(refused.map(withoutDetail))),
  ]);
  return reported;
}

/**
 * Marks messages as `delayed` that wait for their account's rate gate and have never been
 * attempted. Their reason is that of the rate gate.
 */
export async function recordLateSends(
  sql: Sql,
  late: readonly LateRow[],
  now: Date,
): Promise<void> {
  const rows = await sql.query<{ id: string }>(STILL_WAITING, [idsOf(late)]);
  const waiting = new Set(idsOf(rows));
  const moves = late
    .filter(({ id }) => waiting.has(id))
    .map(({ id, reason }): JobTransition => ({
      id,
      to: 'delayed',
      reason: `could not be sent yet: ${reason}`,
    }));
  await transitionJobs(sql, moves, now);
}
