import { hasOpenWriteOf } from '../../accounts/provider-writes/open-writes.ts';
import { lastPassSucceeded } from '../../accounts/sync-schedule/schedule-sync.ts';
import { idsOf, type Sql, type SqlConnection } from '../../platform/database/sql.ts';
import { removeMessages } from './remove-messages.ts';

/*
 * Messages that were sent from here and that the provider has not reported yet (ADR 0119). They
 * have no provider id and are no drafts.
 */

/** Messages that the provider has not reported after this time have no copy in its mailbox. */
const LONGEST_WAIT_MS = 24 * 3_600_000;
const BATCH = 100;

const UNREPORTED = `
  select m.id, m.account_id as "accountId",
    (select g.application_id from "grant" g where g.id = m.account_id) as "applicationId"
  from message m where m.provider_id is null and not m.draft`;

const EXPIRED = `
  ${UNREPORTED} and m.created_at < $1 and ${lastPassSucceeded('m.account_id')}
    and not ${hasOpenWriteOf('save_sent_email', 'm.id')}
  order by m.created_at limit $2`;

// `skip locked` leaves out a message whose copy a sync pass is storing.
const LOCK = `${UNREPORTED} and m.id = any($1::uuid[]) order by m.id for update of m skip locked`;

interface UnreportedMessage {
  id: string;
  accountId: string;
  applicationId: string;
}

/**
 * Removes sent messages from the mirror whose copies the provider has not reported within a day, at
 * most 100. Messages whose mailbox cannot be read, or whose copy Carillon is still filing, stay.
 * @returns number of removed messages; 0 if nothing is left to remove
 */
export async function pruneUnreported(sql: SqlConnection, now: Date): Promise<number> {
  const before = new Date(now.getTime() - LONGEST_WAIT_MS);
  const expired = await sql.query<UnreportedMessage>(EXPIRED, [before, BATCH]);
  if (expired.length === 0) return 0;
  return sql.transaction((open) => removeAll(open, idsOf(expired), now));
}

/**
 * Removes a sent message from the mirror that will have no copy, in the caller's transaction. Does
 * nothing if the provider has reported the message, or the mirror does not have it.
 */
export async function removeUnreported(sql: Sql, id: string, at: Date): Promise<void> {
  await removeAll(sql, [id], at);
}

/** @returns number of removed messages */
async function removeAll(sql: Sql, ids: readonly string[], at: Date): Promise<number> {
  const locked = await sql.query<UnreportedMessage>(LOCK, [ids]);
  for (const some of Map.groupBy(locked, ({ accountId }) => accountId).values())
    if (some[0]) await removeMessages(sql, some[0], idsOf(some), at);
  return locked.length;
}
