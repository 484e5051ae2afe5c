import { columnsOf, type Sql } from '../../../platform/database/sql.ts';
import { storeContents } from '../contents/store-contents.ts';
import {
  columnNames,
  type CompletedMessage,
  HEADER_COLUMNS,
  messageRecords,
  typedColumns,
} from './message-row.ts';

/*
 * SQL of messages from the provider, in the caller's transaction. The number of statements does not
 * depend on the number of rows.
 */

export interface NewMessageRow extends CompletedMessage {
  /** `null` for a sent message that the provider has not reported yet. */
  providerId: string | null;
  threadId: string;
  unread: boolean;
  starred: boolean;
  draft: boolean;
  /** True if the content is fetched later. */
  listed: boolean;
}

const NEW_COLUMNS = [
  ...HEADER_COLUMNS,
  'providerId',
  'threadId',
  'unread',
  'starred',
  'draft',
  'listed',
] as const;

const INSERT = `
  insert into message (account_id, created_at, updated_at, ${columnNames(NEW_COLUMNS)})
  select $1, $3, $3, ${columnNames(NEW_COLUMNS)} from jsonb_to_recordset($2::jsonb) x(${typedColumns(NEW_COLUMNS)})`;

/** Inserts messages with their contents. Their threads must exist already. */
export async function insertMessages(
  sql: Sql,
  accountId: string,
  messages: readonly NewMessageRow[],
  at: Date,
): Promise<void> {
  if (messages.length === 0) return;
  const records = messageRecords(messages, NEW_COLUMNS);
  await sql.query(INSERT, [accountId, records, at]);
  await storeContents(sql, accountId, messages);
}

/** The provider's current state of a mirrored message. */
export type MessageFlagsRow = Pick<NewMessageRow, 'id' | 'unread' | 'starred' | 'draft'> & {
  providerId: string;
};

const UPDATE = `
  update message m set provider_id = x.provider_id, unread = x.unread, starred = x.starred, draft = x.draft, updated_at = $7
  from unnest($2::uuid[], $3::text[], $4::boolean[], $5::boolean[], $6::boolean[]) x(id, provider_id, unread, starred, draft)
  where m.id = x.id and m.account_id = $1`;

/** Updates flags and provider ids. */
export async function updateMessages(
  sql: Sql,
  accountId: string,
  messages: readonly MessageFlagsRow[],
  at: Date,
): Promise<void> {
  if (messages.length === 0) return;
  await sql.query(UPDATE, [
    accountId,
    ...columnsOf(messages, 'id', 'providerId', 'unread', 'starred', 'draft'),
    at,
  ]);
}

const DATE = `
  with given as (select * from unnest($2::uuid[], $3::timestamptz[]) x(id, date)),
  dated as (
    update message m set date = x.date from given x where m.id = x.id and m.account_id = $1 returning m.id, m.date)
  update message_folder mf set date = x.date from dated x where mf.message_id = x.id`;

/**
 * Changes the dates of messages, also in their folders. Call `dateDocuments` and refresh their
 * threads afterwards.
 */
export async function dateMessages(
  sql: Sql,
  accountId: string,
  messages: readonly { id: string; date: Date }[],
): Promise<void> {
  if (messages.length === 0) return;
  await sql.query(DATE, [accountId, ...columnsOf(messages, 'id', 'date')]);
}

const STORE_PROVIDER_ID = `
  update message set provider_id = $3 where account_id = $1 and id = $2 and provider_id <> $3`;

/** Stores the current provider id of a message. */
export async function storeProviderId(sql: Sql, accountId: string, id: string, providerId: string) {
  await sql.query(STORE_PROVIDER_ID, [accountId, id, providerId]);
}

/** A message that was moved to another thread. */
export type RethreadedMessage = Pick<NewMessageRow, 'id' | 'threadId' | 'draft'>;

const LOCK = `
  select 1 from message where account_id = $1 and thread_id = any($2::uuid[]) order by id for no key update`;

/** Locks the messages of threads. Call it before the threads themselves are locked. */
export async function lockMessagesOfThreads(
  sql: Sql,
  accountId: string,
  threadIds: readonly string[],
) {
  await sql.query(LOCK, [accountId, threadIds]);
}

const RETHREAD = `
  update message m set thread_id = x.into_id, updated_at = $4
  from unnest($2::uuid[], $3::uuid[]) x(from_id, into_id)
  where m.account_id = $1 and m.thread_id = x.from_id
  returning m.id, m.thread_id as "threadId", m.draft`;

/** Moves all messages of threads to other threads. */
export function rethreadMessages(
  sql: Sql,
  accountId: string,
  merged: readonly { from: string; into: string }[],
  at: Date,
): Promise<RethreadedMessage[]> {
  return sql.query<RethreadedMessage>(RETHREAD, [
    accountId,
    ...columnsOf(merged, 'from', 'into'),
    at,
  ]);
}
