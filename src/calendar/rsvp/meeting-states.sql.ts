import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { MeetingState } from './meeting-state.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** Deletes the meeting states of an account together with its mirror. */
export const MEETINGS_OF_ACCOUNT: AccountListener = {
  mirrorDeletions: ['delete from meeting_state where account_id = $1'],
};

/** A row of `MeetingState`. */
export interface StoredState extends RowOf<
  MeetingState,
  'key' | 'instance' | 'eventId' | 'sender' | 'trusted' | 'sequence' | 'cancelled' | 'replies'
> {
  stamp: number | null;
}

const STATES = `
  select key, instance, event_id as "eventId", sender, trusted, sequence, stamp, cancelled, replies
  from meeting_state where account_id = $1 and key = any($2::text[]) order by key, instance for update`;

const STORE = `
  insert into meeting_state (account_id, key, instance, event_id, sender, trusted, sequence, stamp, cancelled, replies)
  select $1, x.key, x.instance, x.event_id, x.sender, x.trusted, x.sequence, x.stamp, x.cancelled, x.replies
  from jsonb_to_recordset($2::jsonb) x(key text, instance text, event_id uuid, sender text, trusted boolean, sequence int,
    stamp double precision, cancelled boolean, replies jsonb)
  on conflict (account_id, key, instance) do update set event_id = excluded.event_id, sender = excluded.sender,
    trusted = excluded.trusted, sequence = excluded.sequence, stamp = excluded.stamp, cancelled = excluded.cancelled,
    replies = excluded.replies`;

/**
 * The stored states of these meetings. Their rows stay locked until the transaction ends. Lock the
 * events first.
 */
export function lockStates(
  sql: Sql,
  accountId: string,
  keys: readonly string[],
): Promise<StoredState[]> {
  return sql.query<StoredState>(STATES, [accountId, keys]);
}

const FAILED = `
  select 1 from meeting_state s join job_status j on j.id = s.reply_job_id
  where s.event_id = $1 and s.account_id = $2 and j.status in ('failed', 'cancelled')`;

/**
 * Whether the job that sent the account's last answer to the organizer has failed or was cancelled.
 */
export async function hasFailed(sql: Sql, accountId: string, eventId: string): Promise<boolean> {
  return (await sql.query(FAILED, [eventId, accountId])).length > 0;
}

const NOTE_REPLY = `
  update meeting_state set reply_job_id = $3 where event_id = $1 and account_id = $2`;

/** Stores the id of the job that sends the account's answer to the organizer. */
export async function storeReplyJob(
  sql: Sql,
  accountId: string,
  eventId: string,
  jobId: string,
): Promise<void> {
  await sql.query(NOTE_REPLY, [eventId, accountId, jobId]);
}

export async function storeStates(
  sql: Sql,
  accountId: string,
  rows: readonly StoredState[],
): Promise<void> {
  if (rows.length === 0) return;
  const json = rows.map(({ eventId, ...row }) => ({ ...row, event_id: eventId }));
  await sql.query(STORE, [accountId, JSON.stringify(json)]);
}
