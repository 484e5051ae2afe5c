import { resetBreaker } from '../../platform/work/rate-gates.ts';
import { wakeAfterCommit } from '../../platform/work/signals.ts';
import type { Sql } from '../../platform/database/sql.ts';
import {
  type ChangeObject,
  type ChangeRecord,
  recordChanges,
} from '../../platform/changes/change-log.ts';
import { moveJobs } from '../../platform/job-statuses/jobs.ts';
import { restartSync } from '../sync-schedule/schedule-sync.ts';
import type { AccountListeners, ChangedAccount } from './account-listeners.ts';
import { moveGrants } from './grant-moves.ts';

const LOCK_GRANT = 'select 1 from "grant" where id = $1 for update';
const REVOKE_TOKENS = `update access_token set revoked_at = $2 where grant_id = $1 and revoked_at is null`;

const BATCH = 5_000;
const JOB_BATCH = 500;

/**
 * Empties an account for another mailbox, in the transaction that stores the new settings (ADR 0056): every access token
 * is revoked; messages, threads, folders, files, calendars, events and mirrored contacts are gone, and the change log says
 * so; the mirror begins anew; pending writes end as cancelled; open messages are held until they get a new time; the
 * mailing service is asked again. Takes seconds for 100,000 messages. The caller holds the application's lock.
 */
export async function emptyForMailbox(
  sql: Sql,
  listeners: AccountListeners,
  account: ChangedAccount,
): Promise<void> {
  const { accountId, at } = account;
  // Queue rows first, in the order in which everything else locks them: sync, sends, writes, reminders; then the grant.
  await restartSync(sql, accountId);
  const moves = await listeners.endWork(sql, accountId, 'moved');
  const [grant] = await sql.query(LOCK_GRANT, [accountId]);
  if (!grant) throw new Error(`account ${accountId} is gone`);
  await sql.query(REVOKE_TOKENS, [accountId, at]);
  // Nobody can add work for the account any more; what came in between is ended, too.
  moves.push(...(await listeners.endWork(sql, accountId, 'moved')));
  for (let from = 0; from < moves.length; from += JOB_BATCH)
    await moveJobs(sql, moves.slice(from, from + JOB_BATCH), at);
  for (const { shown = [] } of listeners.all())
    for (const text of shown) await recordGone(sql, account, text);
  for (const { mirrored = [] } of listeners.all())
    for (const text of mirrored) await sql.query(text, [accountId]);
  await moveGrants(sql, [{ accountId, syncState: 'downloading', reason: null }], at);
  await resetBreaker(sql, accountId);
  wakeAfterCommit(sql, 'sync');
}

async function recordGone(sql: Sql, account: ChangedAccount, text: string): Promise<void> {
  const rows = await sql.query<{ id: string; object: ChangeObject }>(text, [account.accountId]);
  const changes = rows.map(({ id, object }): ChangeRecord => ({
    ...account,
    event: 'delete',
    object,
    objectId: id,
  }));
  for (let from = 0; from < changes.length; from += BATCH)
    await recordChanges(sql, changes.slice(from, from + BATCH));
}
