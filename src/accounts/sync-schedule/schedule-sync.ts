import type { Sql } from '../../platform/database/sql.ts';
import { wakeAfterCommit } from '../../platform/work/signals.ts';

const SCHEDULE = `
  insert into sync_job (id, account_id, run_at, due_at) values ($1, $1, now(), now())
  on conflict (account_id) do update
    set run_at = least(sync_job.run_at, now()), again = true, failures = 0, well_since = null`;

/** Condition in SQL on a row `j` of `sync_job`: its mailbox fails at present, and is left alone until its wait is over. */
const FAILING = '(j.failures > 0 and j.well_since is null)';

const LOOK_AGAIN = `
  update sync_job j set again = true, run_at = case when ${FAILING} then j.run_at else least(j.run_at, now()) end
  where j.account_id = $1`;

// `again` outlives a run that is going on; the next one clears it when it begins. Rows are locked in the order of
// their ids, so that several processes do not wait for each other in a circle.
const LOOK_AT_CHANGED = `
  with due as (
    select j.id
    from unnest($1::text[], $2::uuid[], $3::text[]) x(provider, application_id, email)
    join "grant" g on g.provider = x.provider and g.application_id = x.application_id and g.email = x.email
    join sync_job j on j.account_id = g.id
    where g.status = 'valid' and not (j.again and (j.run_at <= now() or ${FAILING}))
    order by j.id for update of j)
  update sync_job j set again = true, run_at = case when ${FAILING} then j.run_at else least(j.run_at, now()) end
  from due where j.id = due.id
  returning 1`;

// A worker that holds the row loses its claim with the fence, and writes nothing any more.
const RESTART = `
  update sync_job set fence = fence + 1, state = 0, worker_id = null, handoff_at = null, crashes = 0, run_at = now(),
    cursor = null, current_since = null, calendars_at = null, contacts_at = null, contacts_cursor = null,
    contacts_since = null, again = false, failures = 0, well_since = null, reading = null
  where account_id = $1`;

const UNSCHEDULE = 'delete from sync_job where account_id = $1';

/**
 * Has the mailbox of an account mirrored from now on, or looked at again at once when it already is (after a new
 * authentication, which ends every wait). In the caller's transaction. The row goes with its grant.
 */
export async function scheduleSync(sql: Sql, accountId: string): Promise<void> {
  await sql.query(SCHEDULE, [accountId]);
  wakeAfterCommit(sql, 'sync');
}

/**
 * Has a mirrored mailbox looked at again at once, because it has changed; one that fails at present, when its wait is
 * over. In the caller's transaction.
 */
export async function lookAgain(sql: Sql, accountId: string): Promise<void> {
  await sql.query(LOOK_AGAIN, [accountId]);
  wakeAfterCommit(sql, 'sync');
}

/** A mailbox, as its provider knows it. */
export interface ChangedMailbox {
  provider: string;
  applicationId: string;
  email: string;
}

/** As `lookAgain`, for mailboxes that their providers say have changed. Those that are to be looked at anyway cost nothing. */
export async function lookAtChanged(sql: Sql, mailboxes: readonly ChangedMailbox[]): Promise<void> {
  const due = await sql.query(LOOK_AT_CHANGED, [
    mailboxes.map(({ provider }) => provider),
    mailboxes.map(({ applicationId }) => applicationId),
    mailboxes.map(({ email }) => email),
  ]);
  if (due.length > 0) wakeAfterCommit(sql, 'sync');
}

/** Has a mirrored mailbox read from the beginning: it is another one now. A look that is going on stores nothing any more. */
export async function restartSync(sql: Sql, accountId: string): Promise<void> {
  await sql.query(RESTART, [accountId]);
}

/** Has the mailbox not looked at any more; the mirror stays. */
export async function unscheduleSync(sql: Sql, accountId: string): Promise<void> {
  await sql.query(UNSCHEDULE, [accountId]);
}
