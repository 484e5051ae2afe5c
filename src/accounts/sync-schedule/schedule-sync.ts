import type { Database, Sql } from '../../platform/database/sql.ts';
import type { PushResource } from '../../providers/port/push-port.ts';
import { lastPassFailed } from './last-pass-failed.ts';
import { wakeAfterCommit } from '../../platform/work/signals.ts';
import { ROW_WAITING } from '../../platform/work/queue/row-state.ts';

const SCHEDULE = `
  insert into sync_job (id, account_id, run_at, due_at) values ($1, $1, now(), now())
  on conflict (account_id) do update
    set run_at = least(sync_job.run_at, now()), again = true, failures = 0, well_since = null`;

const FAILING = lastPassFailed('j');

// `again` stays set while a sync pass runs; the next one clears it when it starts. Rows are locked
// in the order of their ids, so that processes do not deadlock.
const LOOK_AGAIN = `
  with due as (select id from sync_job where account_id = any($1::uuid[]) order by id for update)
  update sync_job j set again = true, run_at = case when ${FAILING} then j.run_at else least(j.run_at, now()) end
  from due where j.id = due.id`;

// Locks rows in the same order.
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

// A calendar pass runs at most once a minute (`pass-schedule.ts`). A later time than that is the
// wait after a failure, which a notification does not end. `null` means that there was no pass yet.
const hurried = (column: string, asked: string): string => `
  case when ${asked} and j.${column} <= now() + interval '1 minute' then least(j.${column}, '2000-01-01'::timestamptz)
       else j.${column} end`;

// Locks rows in the same order.
const LOOK_AT_PUSHED = `
  with asked as (
    select account_id, bool_or(resource like 'calendar%') as calendars, bool_or(resource = 'contacts') as contacts
    from unnest($1::uuid[], $2::text[]) x(account_id, resource) group by account_id),
  due as (
    select j.id, a.calendars, a.contacts
    from asked a join sync_job j on j.account_id = a.account_id join "grant" g on g.id = a.account_id
    where g.status = 'valid'
      and not (j.again and (j.run_at <= now() or ${FAILING})
        and (not a.calendars or j.calendars_at is null or j.calendars_at <= now())
        and (not a.contacts or j.contacts_at is null or j.contacts_at <= now()))
    order by j.id for update of j)
  update sync_job j
  set again = true, run_at = case when ${FAILING} then j.run_at else least(j.run_at, now()) end,
    calendars_at = ${hurried('calendars_at', 'due.calendars')},
    contacts_at = ${hurried('contacts_at', 'due.contacts')}
  from due where j.id = due.id
  returning 1`;

// A pass that is running may have looked already: another one follows it. A pass that has not begun
// counts as requested.
const LOOK_SOON = `
  update sync_job j
  set again = true,
    run_at = case when ${FAILING} then j.run_at else least(j.run_at, now() + make_interval(secs => $2)) end
  where account_id = $1 and not (again and run_at <= now())`;

// A worker that has claimed the row loses its claim through the higher fencing token, and can no
// longer store anything.
const RESTART = `
  update sync_job set fence = fence + 1, state = ${ROW_WAITING}, worker_id = null, handoff_at = null, crashes = 0, run_at = now(),
    cursor = null, current_since = null, calendars_at = null, contacts_at = null, contacts_cursor = null,
    contacts_since = null, again = false, failures = 0, well_since = null, reading = null
  where account_id = $1`;

const FORGET_AUDIT = 'delete from mirror_audit where account_id = $1';

const UNSCHEDULE = 'delete from sync_job where account_id = $1';

/**
 * Starts mirroring the mailbox of an account, or schedules a sync pass at once if it is already
 * mirrored. Also ends the waiting time after failures, because the user may have authenticated
 * again. Runs in the caller's transaction. The row is deleted with its grant.
 */
export async function scheduleSync(sql: Sql, accountId: string): Promise<void> {
  await sql.query(SCHEDULE, [accountId]);
  wakeAfterCommit(sql, 'sync');
}

/**
 * Schedules sync passes of mirrored mailboxes at once, because the mailboxes have changed. After a
 * failure, the pass waits until the waiting time is over. Runs in the caller's transaction, which
 * must not have locked rows of another queue yet.
 */
export async function scheduleChangedSync(sql: Sql, accountIds: readonly string[]): Promise<void> {
  if (accountIds.length === 0) return;
  await sql.query(LOOK_AGAIN, [accountIds]);
  wakeAfterCommit(sql, 'sync');
}

/**
 * Schedules a sync pass of a mirrored mailbox that is about to change. After a failure, the pass
 * waits until the waiting time is over. Runs in a transaction of its own.
 * @param seconds how soon
 */
export async function scheduleSyncSoon(
  database: Database,
  accountId: string,
  seconds: number,
): Promise<void> {
  await database.query(LOOK_SOON, [accountId, seconds]);
  wakeAfterCommit(database, 'sync');
}

/** A mailbox, identified as its provider knows it. */
export interface ChangedMailbox {
  provider: string;
  applicationId: string;
  email: string;
}

/**
 * Same as `scheduleChangedSync`, for mailboxes whose providers have reported a change. Mailboxes
 * with a sync pass already due are skipped.
 */
export async function scheduleChangedMailboxes(
  sql: Sql,
  mailboxes: readonly ChangedMailbox[],
): Promise<void> {
  const due = await sql.query(LOOK_AT_CHANGED, [
    mailboxes.map(({ provider }) => provider),
    mailboxes.map(({ applicationId }) => applicationId),
    mailboxes.map(({ email }) => email),
  ]);
  if (due.length > 0) wakeAfterCommit(sql, 'sync');
}

/**
 * Same as `scheduleChangedMailboxes`, for resources of accounts. A calendar or an address book is
 * read in the next pass, even if the last one was less than a minute ago, unless that one failed.
 */
export async function schedulePushed(
  sql: Sql,
  changed: readonly { accountId: string; resource: PushResource }[],
): Promise<void> {
  if (changed.length === 0) return;
  const due = await sql.query(LOOK_AT_PUSHED, [
    changed.map(({ accountId }) => accountId),
    changed.map(({ resource }) => resource),
  ]);
  if (due.length > 0) wakeAfterCommit(sql, 'sync');
}

/**
 * Restarts the mirror from the beginning, because the account has another mailbox now. A sync pass
 * that is running can no longer store anything.
 */
export async function restartSync(sql: Sql, accountId: string): Promise<void> {
  await sql.query(RESTART, [accountId]);
  await sql.query(FORGET_AUDIT, [accountId]);
}

/** Stops syncing the mailbox. The mirror stays. */
export async function unscheduleSync(sql: Sql, accountId: string): Promise<void> {
  await sql.query(UNSCHEDULE, [accountId]);
}
