import { resetBreaker } from '../../../platform/work/gates/rate-gates.ts';
import { wakeAfterCommit } from '../../../platform/work/signals.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import {
  type ChangeObject,
  type ChangeRecord,
  recordChanges,
} from '../../../platform/changes/change-log.ts';
import { transitionJobs } from '../../../job-statuses/jobs.ts';
import { restartSync } from '../../sync-schedule/schedule-sync.ts';
import type { AccountListeners, ChangedAccount } from '../account-listeners.ts';
import { moveGrants } from './grant-moves.ts';

const LOCK_GRANT = 'select 1 from "grant" where id = $1 for update';
const REVOKE_TOKENS = `update access_token set revoked_at = $2 where grant_id = $1 and revoked_at is null`;

const BATCH = 5_000;
const JOB_BATCH = 500;

/**
 * Empties an account for another mailbox, in the transaction that stores the new settings (ADR
 * 0056). Takes seconds for 100,000 messages. The caller holds the row lock on the application.
 *
 * - Revokes every access token.
 * - Deletes messages, threads, folders, files, calendars, events and mirrored contacts, and
 *   records each deletion in the change log, without webhooks. The mirror starts from the
 *   beginning.
 * - Cancels pending provider writes, and puts open messages on hold until they get a new time.
 * - Resets the circuit breaker, because its state describes the old server.
 */
export async function emptyForMailbox(
  sql: Sql,
  listeners: AccountListeners,
  account: ChangedAccount,
): Promise<void> {
  const { accountId, at } = account;
  // Queue rows first, in the order in which all other code locks them: sync, sends, provider
  // writes, reminders. Then the grant.
  await restartSync(sql, accountId);
  const moves = await listeners.endWork(sql, accountId, 'moved');
  const [grant] = await sql.query(LOCK_GRANT, [accountId]);
  if (!grant) throw new Error(`account ${accountId} has been deleted`);
  await sql.query(REVOKE_TOKENS, [accountId, at]);
  // The row lock on the grant keeps other transactions from adding work. End the work that was
  // added before the lock.
  moves.push(...(await listeners.endWork(sql, accountId, 'moved')));
  for (let from = 0; from < moves.length; from += JOB_BATCH)
    await transitionJobs(sql, moves.slice(from, from + JOB_BATCH), at);
  for (const { visibleObjects = [] } of listeners.all())
    for (const text of visibleObjects) await recordDeleted(sql, account, text);
  for (const { mirrorDeletions = [] } of listeners.all())
    for (const text of mirrorDeletions) await sql.query(text, [accountId]);
  await moveGrants(sql, [{ accountId, syncState: 'downloading', reason: null }], at);
  await resetBreaker(sql, accountId);
  wakeAfterCommit(sql, 'sync');
}

async function recordDeleted(sql: Sql, account: ChangedAccount, text: string): Promise<void> {
  const rows = await sql.query<{ id: string; object: ChangeObject }>(text, [account.accountId]);
  const changes = rows.map(({ id, object }): ChangeRecord => ({
    ...account,
    event: 'delete',
    object,
    objectId: id,
    webhook: null,
  }));
  for (let from = 0; from < changes.length; from += BATCH)
    await recordChanges(sql, changes.slice(from, from + BATCH));
}
