import { resetBreaker } from '../../platform/work/rate-gates.ts';
import type { QueueName } from '../../platform/work/wake.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { type ChangeObject, type ChangeRecord, recordChanges } from '../../platform/changes/change-log.ts';
import { type JobMove, moveJobs } from '../../platform/job-statuses/jobs.ts';
import { moveGrants } from './grant-moves.ts';

/** The account that is moved, and when. */
export interface MovedAccount {
  applicationId: string;
  accountId: string;
  at: Date;
}

/** Shown as the reason of a message that is held (`send_job.held`). */
export const HELD =
  'held: the account was moved to another mailbox after this message was accepted; give it a new send_at to send it from there, or cancel it';
/** Shown as the reason of a change that never reaches a provider. */
const DROPPED = 'the account was moved to another mailbox, which does not have this object';

/*
 * Queue rows first, in the order in which everything else locks them: sync, sends, writes, reminders; then the grant. A
 * worker that holds one of these rows loses its claim with the fence, and writes nothing any more.
 */
const RESTART_SYNC = `
  update sync_job set fence = fence + 1, state = 0, worker_id = null, handoff_at = null, crashes = 0, run_at = now(),
    cursor = null, current_since = null, calendars_at = null, contacts_at = null, contacts_cursor = null,
    contacts_since = null, again = false, failures = 0, well_since = null, reading = null
  where account_id = $1`;

// A message that is being handed over at this moment still goes by the servers before, and what comes of it is recorded. A
// send within a request (fence 0, in doubt from the beginning) is never repeated, so it needs no hold.
const IS_HANDED_OFF = 'state <> 0 and handoff_at is not null';
const HOLD_SENDS = `
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
const DROP_WRITES = `
  delete from provider_job where id in (
    select id from provider_job where id in (select id from job_status where account_id = $1) order by id for update)
  returning id`;
const DROP_REMINDERS = `
  delete from reminder_job where id in (
    select id from reminder_job where id in (select id from reminder where account_id = $1) order by id for update)`;
const LOCK_GRANT = `
  select organization_unit as "organizationUnit" from "grant" where id = $1 for update`;
const REVOKE_TOKENS = `update access_token set revoked_at = $2 where grant_id = $1 and revoked_at is null`;

/** What clients see of the mirror, and hear to be gone. */
const SEEN: readonly (readonly [table: string, object: string, shown: string])[] = [
  ['message', `case when draft then 'draft' else 'message' end`, 'not deleting'],
  ['thread', `'thread'`, 'true'],
  ['file', `'file'`, 'message_id is not null'],
  ['folder', '$2::text', 'true'],
  ['event', `'event'`, `status <> 'cancelled'`],
  ['calendar', `'calendar'`, 'true'],
  ['contact', `'contact'`, 'provider_id is not null and not deleting'],
];
/** Messages and files go with their threads, events with their calendars. */
const DROP_MIRROR = [
  'delete from thread where account_id = $1',
  'delete from folder where account_id = $1',
  'delete from calendar where account_id = $1',
  'delete from contact where account_id = $1 and provider_id is not null',
  'delete from meeting_state where account_id = $1',
  'delete from sync_failure where account_id = $1',
  'delete from mailbox_watch where account_id = $1',
  'delete from relay_sender where account_id = $1',
];

const BATCH = 5_000;
const JOB_BATCH = 500;

/**
 * Empties an account for another mailbox, in the transaction that stores the new settings (ADR 0056): every access token
 * is revoked; messages, threads, folders, files, calendars, events and mirrored contacts are gone, and the change log says
 * so; the mirror begins anew; pending writes end as cancelled; open messages are held until they get a new time; the
 * mailing service is asked again. Takes seconds for 100,000 messages. The caller holds the application's lock.
 * @returns queues to wake after the commit
 */
export async function emptyForMailbox(sql: Sql, account: MovedAccount): Promise<QueueName[]> {
  const { accountId, at } = account;
  await sql.query(RESTART_SYNC, [accountId]);
  const moves = await endOpenWork(sql, accountId);
  const [grant] = await sql.query<{ organizationUnit: string }>(LOCK_GRANT, [accountId]);
  if (!grant) throw new Error(`account ${accountId} is gone`);
  await sql.query(REVOKE_TOKENS, [accountId, at]);
  // Nobody can add work for the account any more; what came in between is ended, too.
  moves.push(...(await endOpenWork(sql, accountId)));
  let hooks = false;
  for (let from = 0; from < moves.length; from += JOB_BATCH) {
    const moved = await moveJobs(sql, moves.slice(from, from + JOB_BATCH), at);
    hooks ||= moved.hooks;
  }
  await tellGone(sql, account, grant.organizationUnit);
  for (const text of DROP_MIRROR) await sql.query(text, [accountId]);
  hooks = (await moveGrants(sql, [{ accountId, syncState: 'downloading', reason: null }], at)) || hooks;
  await resetBreaker(sql, accountId);
  return hooks ? ['sync', 'hook'] : ['sync'];
}

/** @returns what becomes of the jobs; of those that are being sent at this moment nothing */
async function endOpenWork(sql: Sql, accountId: string): Promise<JobMove[]> {
  const held = await sql.query<{ id: string; going: boolean }>(HOLD_SENDS, [accountId]);
  const dropped = await sql.query<{ id: string }>(DROP_WRITES, [accountId]);
  await sql.query(DROP_REMINDERS, [accountId]);
  const waiting = held.filter(({ going }) => !going);
  return [
    ...waiting.map(({ id }): JobMove => ({ id, to: 'delayed', reason: HELD })),
    ...dropped.map(({ id }): JobMove => ({ id, to: 'cancelled', reason: DROPPED })),
  ];
}

async function tellGone(
  sql: Sql,
  { applicationId, accountId, at }: MovedAccount,
  organizationUnit: string,
): Promise<void> {
  const owner = { applicationId, accountId, at, event: 'delete' } as const;
  for (const [table, object, shown] of SEEN) {
    const unit = table === 'folder' ? [organizationUnit] : [];
    const rows = await sql.query<{ id: string; object: ChangeObject }>(
      `select id, ${object} as object from ${table} where account_id = $1 and ${shown}`,
      [accountId, ...unit],
    );
    const changes = rows.map(({ id, object }): ChangeRecord => ({ ...owner, object, objectId: id }));
    for (let from = 0; from < changes.length; from += BATCH)
      await recordChanges(sql, changes.slice(from, from + BATCH));
  }
}
