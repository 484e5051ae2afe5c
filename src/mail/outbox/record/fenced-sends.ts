import { columnsOf, idsOf, type Sql } from '../../../platform/database/sql.ts';
import type { Settled } from '../../../platform/work/queue/dispatcher.ts';
import { forgetLostAttempts, recordLateAttempts } from '../../../job-statuses/job-attempts.ts';
import type { SendJobRow, SendResult } from '../send/send-attempt.ts';
import { recordSends } from './send-recording.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';

type FencedSend = Settled<SendJobRow, SendResult>;

// All writers of queue rows lock them in the order of their ids.
const LOCK = `select id from send_job where id = any($1::uuid[]) order by id for update`;

const attemptOf = (row: string) => `($2::int[])[array_position($1::uuid[], ${row})]`;

/*
 * Every attempt after the fenced one has to be a look-up, with its line in the timeline unless it
 * is still running. An attempt without a line may have sent the message again. If the fenced
 * attempt has its line, its result is written for the second time.
 */
const ADOPTABLE = `
  select j.id from send_job j
  where j.id = any($1::uuid[]) and j.ambiguous and j.handoff_at is null
    and not exists (select from job_attempt l where l.id = any($3::uuid[]) and l.job_id = j.id)
    and not exists (
      select from generate_series(${attemptOf('j.id')} + 1, j.attempt - (j.state <> ${ROW_WAITING})::int) later
      where not exists (
        select from job_attempt l where l.job_id = j.id and l.attempt = later and l.route is null))`;

const FINISH = `delete from send_job where id = any($1::uuid[])`;

// The higher fencing token voids the claim of a worker that is looking the message up.
const AGAIN = `
  update send_job j
  set state = ${ROW_WAITING}, worker_id = null, fence = fence + 1, crashes = 0,
    ambiguous = ($3::boolean[])[array_position($1::uuid[], j.id)],
    run_at = greatest(($2::timestamptz[])[array_position($1::uuid[], j.id)], now())
  where j.id = any($1::uuid[])`;

/**
 * Records attempts that ended after their worker had counted as dead. If the server's answer is
 * known, and no other worker has sent the message again, the answer settles the unknown outcome.
 * All other attempts that handed the message over only get their line in the timeline.
 */
export async function recordFencedSends(
  sql: Sql,
  fenced: readonly FencedSend[],
  now: Date,
): Promise<void> {
  const handedOff = fenced.filter(({ result: { attempt } }) => (attempt?.route ?? null) !== null);
  if (handedOff.length === 0) return;
  const rows = handedOff.map(({ row }) => row);
  await sql.query(LOCK, [idsOf(rows)]);
  const adoptable = await sql.query<{ id: string }>(ADOPTABLE, [
    ...columnsOf(rows, 'id', 'attempt'),
    handedOff.flatMap(({ result: { attempt } }) => attempt?.id ?? []),
  ]);
  const ids = new Set(idsOf(adoptable));
  const isAdopted = ({ row, result: { attempt } }: FencedSend) =>
    ids.has(row.id) && attempt?.outcome !== 'unknown';
  const adopted = handedOff.filter(isAdopted);
  await forgetLostAttempts(sql, rows);
  await settleRows(sql, adopted);
  await recordSends(sql, adopted, now);
  const others = handedOff.filter((send) => !isAdopted(send));
  await recordLateAttempts(
    sql,
    others.flatMap(({ result: { attempt } }) => attempt ?? []),
  );
}

/** Takes the rows back from the queue, or from a worker that looks the messages up. */
async function settleRows(sql: Sql, adopted: readonly FencedSend[]): Promise<void> {
  const again = adopted.flatMap(({ row: { id }, next }) =>
    next.kind === 'again' ? [{ id, at: next.at, ambiguous: next.ambiguous }] : [],
  );
  const done = adopted.filter(({ next }) => next.kind === 'done').map(({ row }) => row);
  if (done.length > 0) await sql.query(FINISH, [idsOf(done)]);
  if (again.length > 0) await sql.query(AGAIN, columnsOf(again, 'id', 'at', 'ambiguous'));
}
