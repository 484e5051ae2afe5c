import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import type { JobMove } from '../../platform/job-statuses/jobs.ts';

/** Shown as the reason of a message that is held (`send_job.held`). */
export const HELD =
  'held: the account was moved to another mailbox after this message was accepted; give it a new send_at to send it from there, or cancel it';

// A worker that has claimed the row loses its claim with the fence. A message that is being handed over at this moment still
// goes by the servers before, and what comes of it is recorded. A send within a request (fence 0, in doubt from the
// beginning) is never repeated, so it needs no hold.
const IS_HANDED_OFF = 'state <> 0 and handoff_at is not null';
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
// By the index of job_status: the queue has none for accounts.
const DELETE = `
  delete from send_job where id in (
    select id from send_job where id in (select id from job_status where account_id = $1) order by id for update)`;

/** Open messages of an account that is moved are held until they get a new time; those of a removed one are gone. */
export const SENDS_OF_ACCOUNT: AccountListener = {
  queue: 'send',
  async endWork(sql, accountId, cause) {
    const held = await sql.query<{ id: string; going: boolean }>(
      cause === 'moved' ? HOLD : DELETE,
      [accountId],
    );
    const waiting = cause === 'moved' ? held.filter(({ going }) => !going) : [];
    return waiting.map(({ id }): JobMove => ({ id, to: 'delayed', reason: HELD }));
  },
};
