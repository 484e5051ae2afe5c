import type { Address } from '../../../platform/base/text/address.ts';
import { columnsOf, type Sql } from '../../../platform/database/sql.ts';
import { peopleOf } from '../filters/people.ts';

/*
 * SQL of messages from the provider, in the caller's transaction. The number of statements does not
 * depend on the number of rows.
 */

export interface NewMessageRow {
  id: string;
  /** `null` for a sent message that the provider has not reported yet. */
  providerId: string | null;
  threadId: string;
  subject: string;
  snippet: string;
  date: Date;
  from: readonly Address[];
  to: readonly Address[];
  cc: readonly Address[];
  bcc: readonly Address[];
  replyTo: readonly Address[];
  unread: boolean;
  starred: boolean;
  hasAttachments: boolean;
  draft: boolean;
  /** True if the content is fetched later. */
  listed: boolean;
  messageIdHeader: string | null;
  inReplyTo: string | null;
  references: readonly string[];
  metadata: Readonly<Record<string, string>>;
  body: string;
  headers: string | null;
  warnings: readonly string[];
}

const INSERT = `
  with given as (
    select * from jsonb_to_recordset($2::jsonb) x(
      id uuid, provider_id text, thread_id uuid, subject text, snippet text, date timestamptz, from_addresses jsonb,
      to_addresses jsonb, cc_addresses jsonb, bcc_addresses jsonb, reply_to_addresses jsonb, participants text[], unread boolean,
      starred boolean, has_attachments boolean, draft boolean, listed boolean, message_id_header text, in_reply_to text,
      reference_ids text[], metadata jsonb)),
  written as (
    insert into message (id, account_id, provider_id, thread_id, subject, snippet, date, from_addresses, to_addresses,
      cc_addresses, bcc_addresses, reply_to_addresses, participants, unread, starred, has_attachments, draft,
      listed, message_id_header, in_reply_to, reference_ids, metadata, created_at, updated_at)
    select id, $1, provider_id, thread_id, subject, snippet, date, from_addresses, to_addresses, cc_addresses,
      bcc_addresses, reply_to_addresses, participants, unread, starred, has_attachments, draft, listed, message_id_header,
      in_reply_to, reference_ids, metadata, $3, $3
    from given)
  insert into message_body (message_id, body, headers, warnings)
  select x.id, x.body, x.headers, x.warnings::jsonb
  from unnest($4::uuid[], $5::text[], $6::text[], $7::text[]) x(id, body, headers, warnings)`;

/** Inserts messages with their bodies. Their threads must exist already. */
export async function insertMessages(
  sql: Sql,
  accountId: string,
  messages: readonly NewMessageRow[],
  at: Date,
): Promise<void> {
  if (messages.length === 0) return;
  const rows = messages.map((message) => ({
    id: message.id,
    provider_id: message.providerId,
    thread_id: message.threadId,
    subject: message.subject,
    snippet: message.snippet,
    date: message.date,
    from_addresses: message.from,
    to_addresses: message.to,
    cc_addresses: message.cc,
    bcc_addresses: message.bcc,
    reply_to_addresses: message.replyTo,
    participants: peopleOf(message),
    unread: message.unread,
    starred: message.starred,
    has_attachments: message.hasAttachments,
    draft: message.draft,
    listed: message.listed,
    message_id_header: message.messageIdHeader,
    in_reply_to: message.inReplyTo,
    reference_ids: message.references,
    metadata: message.metadata,
  }));
  await sql.query(INSERT, [
    accountId,
    JSON.stringify(rows),
    at,
    ...columnsOf(messages, 'id', 'body', 'headers'),
    messages.map(({ warnings }) => JSON.stringify(warnings)),
  ]);
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
