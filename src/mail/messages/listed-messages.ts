import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { storeContents } from './contents/store-contents.ts';
import {
  assignments,
  type CompletedMessage,
  HEADER_COLUMNS,
  messageRecords,
  typedColumns,
} from './mirror/message-row.ts';
import type { Message } from './message.entity.ts';
import type { RowOf, NotNull } from '../../platform/database/rows/row-of.ts';

/*
 * SQL of listed messages, whose content is fetched later (ADR 0077). The number of statements does
 * not depend on the number of messages.
 */

/** A listed message, as it is requested from the provider. */
export type ListedMessage = RowOf<Message, 'id'> & NotNull<RowOf<Message, 'providerId'>>;

/** SQL condition: the account has listed messages. @param accountId an SQL expression */
export const hasListed = (accountId: string): string =>
  `exists (select 1 from message m where m.account_id = ${accountId} and m.listed)`;

const CAN_BE_FETCHED = `
  m.listed and m.provider_id is not null and not m.deleting
    and not exists (select 1 from vanished_message v where v.message_id = m.id)`;

const NEXT = `
  select m.id, m.provider_id as "providerId" from message m
  where m.account_id = $1 and ${CAN_BE_FETCHED} and m.provider_id <> all($3::text[])
  order by m.date desc, m.id desc limit $2`;

/**
 * The newest listed messages of an account, newest first.
 * @param except provider ids of messages to leave out
 */
export function nextListed(
  sql: Sql,
  accountId: string,
  limit: number,
  except: readonly string[],
): Promise<ListedMessage[]> {
  return sql.query<ListedMessage>(NEXT, [accountId, limit, except]);
}

const AMONG = `
  select m.id, m.provider_id as "providerId" from message m
  where m.account_id = $1 and m.id = any($2::uuid[]) and ${CAN_BE_FETCHED} order by m.date desc, m.id desc`;

/** Those of the messages that are listed, newest first. */
export function listedAmong(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<ListedMessage[]> {
  return sql.query<ListedMessage>(AMONG, [accountId, ids]);
}

const BY_PROVIDER_ID = `
  select m.id, m.provider_id as "providerId" from message m
  where m.account_id = $1 and m.provider_id = $2 and m.listed`;

/** The listed message with this provider id; `undefined` if there is none. */
export async function findListed(
  sql: Sql,
  accountId: string,
  providerId: string,
): Promise<ListedMessage | undefined> {
  return (await sql.query<ListedMessage>(BY_PROVIDER_ID, [accountId, providerId]))[0];
}

const LISTED_IDS = `
  select provider_id as "providerId" from message where account_id = $1 and provider_id = any($2::text[]) and listed`;

/** Those of the provider ids that belong to listed messages. */
export async function listedIds(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
): Promise<Set<string>> {
  const rows = await sql.query<NotNull<RowOf<Message, 'providerId'>>>(LISTED_IDS, [
    accountId,
    providerIds,
  ]);
  return new Set(rows.map(({ providerId }) => providerId));
}

/** A listed message whose row is locked. */
export interface LockedListedMessage
  extends ListedMessage, RowOf<Message, 'threadId' | 'date' | 'draft' | 'metadata'> {
  /** Provider ids of its folders. */
  folderIds: readonly string[];
}

const LOCK = `
  select m.id, m.provider_id as "providerId", m.thread_id as "threadId", m.date, m.draft, m.metadata,
    array(select f.provider_id from message_folder mf join folder f on f.id = mf.folder_id
          where mf.message_id = m.id and f.provider_id is not null) as "folderIds"
  from message m where m.account_id = $1 and m.id = any($2::uuid[]) and m.listed and not m.deleting
  order by m.id for no key update of m`;

/**
 * Locks listed messages until the transaction ends.
 * @returns those that are still listed
 */
export async function lockListed(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<Map<string, LockedListedMessage>> {
  const rows = await sql.query<LockedListedMessage>(LOCK, [accountId, ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

const COMPLETE = `
  with given as (select * from jsonb_to_recordset($2::jsonb) x(${typedColumns(HEADER_COLUMNS)})),
  folders as (
    update message_folder mf set date = x.date from given x where mf.message_id = x.id and mf.date <> x.date)
  update message m set listed = false, updated_at = $3, ${assignments(HEADER_COLUMNS.filter((column) => column !== 'id'))}
  from given x where m.id = x.id and m.account_id = $1`;

/** Completes listed messages that the caller has locked. Flags and folders stay as they are. */
export async function completeMessages(
  sql: Sql,
  accountId: string,
  messages: readonly CompletedMessage[],
  at: Date,
): Promise<void> {
  if (messages.length === 0) return;
  const records = messageRecords(messages, HEADER_COLUMNS);
  await sql.query(COMPLETE, [accountId, records, at]);
  await storeContents(sql, accountId, messages);
}

const LIST_AGAIN = `
  update message set listed = true, version = version + 1, updated_at = $3
  where account_id = $1 and id = any($2::uuid[])`;

/** Makes messages listed ones, with a new version, because their contents have changed. */
export async function listAgain(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
  at: Date,
): Promise<void> {
  await sql.query(LIST_AGAIN, [accountId, ids, at]);
}

const GIVE_UP = `
  update message set listed = false, updated_at = $3 where account_id = $1 and id = any($2::uuid[]) and listed
  returning id, draft`;

/**
 * Keeps what is known of listed messages, because their contents cannot be read.
 * @returns the messages that were listed until now
 */
export async function giveUpListed(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
  at: Date,
): Promise<{ id: string; draft: boolean }[]> {
  return ids.length === 0 ? [] : sql.query(GIVE_UP, [accountId, ids, at]);
}

// The oldest message of a thread gives it its subject. While its subject is not known, the next one
// does.
const NAME_THREADS = `
  select t.id, o.subject from thread t
  cross join lateral (
    select m.id, m.subject from message m
    where m.thread_id = t.id and not m.deleting and not (m.listed and m.subject = '')
    order by m.date, m.id limit 1) o
  where t.account_id = $1 and t.id = any($2::uuid[]) and t.subject <> o.subject
    and (t.subject = '' or o.id = any($3::uuid[]))`;

/** Subjects that threads get from messages that have just been completed. */
export function subjectsFor(
  sql: Sql,
  accountId: string,
  threadIds: readonly string[],
  completed: readonly { id: string }[],
): Promise<{ id: string; subject: string }[]> {
  return sql.query(NAME_THREADS, [accountId, threadIds, idsOf(completed)]);
}
