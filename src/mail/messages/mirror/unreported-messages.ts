import { hurryWritesOf } from '../../../accounts/provider-writes/hurried-writes.ts';
import { hasOpenWriteOf } from '../../../accounts/provider-writes/open-writes.ts';
import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import { removeMessages } from './remove-messages.ts';
import type { Message } from '../message.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';
import type { Grant } from '../../../accounts/grants/grant.entity.ts';

/*
 * Messages that were sent from here and that the provider has not reported yet (ADR 0119). They
 * have no provider id and are no drafts.
 */

/** Messages that the provider has not reported after this time have no copy in its mailbox. */
const LONGEST_WAIT = `interval '24 hours'`;
const BATCH = 100;

const UNREPORTED = `
  select m.id, m.account_id as "accountId",
    (select g.application_id from "grant" g where g.id = m.account_id) as "applicationId"
  from message m where m.provider_id is null and not m.draft`;

const expired = (accountId: string): string => `
  m.account_id = ${accountId} and m.created_at < now() - ${LONGEST_WAIT}
    and not ${hasOpenWriteOf('save_sent_email', 'm.id')}`;

/**
 * SQL condition: the account has sent messages that the provider has not reported within a day.
 * Messages whose copy Carillon is still filing do not count.
 * @param accountId an SQL expression
 */
export const hasUncopied = (accountId: string): string =>
  `exists (select 1 from message m where m.provider_id is null and not m.draft and ${expired(accountId)})`;

const UNCOPIED = `${UNREPORTED} and ${expired('$1')} order by m.created_at limit ${BATCH}`;

// `skip locked` leaves out a message whose copy a sync pass is storing.
const LOCK = `${UNREPORTED} and m.id = any($1::uuid[]) order by m.id for update of m skip locked`;

type UnreportedMessage = RowOf<Message, 'id' | 'accountId'> & RowOf<Grant, 'applicationId'>;

/**
 * Removes the messages of `hasUncopied` from the mirror, at most 100, in the caller's transaction.
 * Call it in a sync pass that began after this time was over and that has read the whole mailbox.
 * @returns number of removed messages
 */
export async function removeUncopied(sql: Sql, accountId: string, at: Date): Promise<number> {
  return removeAll(sql, idsOf(await sql.query<UnreportedMessage>(UNCOPIED, [accountId])), at);
}

/**
 * Removes a sent message from the mirror that will have no copy, in the caller's transaction. Does
 * nothing if the provider has reported the message, or the mirror does not have it.
 */
export async function removeUnreported(sql: Sql, id: string, at: Date): Promise<void> {
  await removeAll(sql, [id], at);
}

/**
 * Also makes open changes of the messages due, which end then.
 * @returns number of removed messages
 */
async function removeAll(sql: Sql, ids: readonly string[], at: Date): Promise<number> {
  const locked = await sql.query<UnreportedMessage>(LOCK, [ids]);
  for (const some of Map.groupBy(locked, ({ accountId }) => accountId).values())
    if (some[0]) await removeMessages(sql, some[0], idsOf(some), at);
  await hurryWritesOf(sql, idsOf(locked));
  return locked.length;
}
