import type { AccountListener } from '../../../accounts/grants/account-listeners.ts';
import type { JobTransition } from '../../../job-statuses/jobs.ts';
import { ROW_WAITING } from '../../../platform/work/queue/row-state.ts';

/** Reason shown for a message that is on hold (`send_job.held`). */
export const ON_HOLD_REASON =
  'on hold: the account was moved to another mailbox after this message was accepted; set a new send_at to send it from the new mailbox, or cancel it';

// A worker that has claimed the row loses its claim, because the fencing token grows. A message
// that was already handed off still leaves over the old servers, and its result is recorded. A send
// within a request (fence 0, outcome unknown from the beginning) is never repeated, so it is not
// put on hold.
const IS_HANDED_OFF = `state <> ${ROW_WAITING} and handoff_at is not null`;
const HOLD = `
  update send_job j set held = true,
    fence = case when ${IS_HANDED_OFF} then fence else fence + 1 end,
    state = case when ${IS_HANDED_OFF} then state else 0 end,
    worker_id = case when ${IS_HANDED_OFF} then worker_id end,
    run_at = case when ${IS_HANDED_OFF} then run_at else greatest(retry_limit_at, now()) end
  from (select id as mine from send_job
        where id in (select id from job_status where account_id = $1 and status in ('pending', 'delayed'))
          and not held and not (fence = 0 and ambiguous)
        order by id for update) m
  where j.id = m.mine
  returning j.id, ${IS_HANDED_OFF} as going`;
// Uses the index of job_status, because the queue has no index of all rows of an account.
const DELETE = `
  delete from send_job where id in (
    select id from send_job where id in (select id from job_status where account_id = $1) order by id for update)`;

/**
 * Puts open messages of a moved account on hold until they get a new `send_at`. Deletes the queue
 * rows of a removed account.
 */
export const SENDS_OF_ACCOUNT: AccountListener = {
  queue: 'send',
  async endWork(sql, accountId, cause) {
    const rows = await sql.query<{ id: string; going: boolean }>(
      cause === 'moved' ? HOLD : DELETE,
      [accountId],
    );
    const waiting = cause === 'moved' ? rows.filter(({ going }) => !going) : [];
    return waiting.map(({ id }): JobTransition => ({ id, to: 'delayed', reason: ON_HOLD_REASON }));
  },
};
