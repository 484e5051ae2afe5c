import type { Address } from '../../../platform/base/text/address.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import type { TrackingWish } from '../../tracking/tracker.ts';
import { peopleOf } from '../filters/people.ts';
import type { Message } from '../message.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/* SQL of drafts, in the caller's transaction. Drafts are rows of `message`. */

export interface DraftVersionRow {
  id: string;
  accountId: string;
  threadId: string;
  version: number;
  /** Differs for each version; with angle brackets. */
  messageIdHeader: string | null;
  from: Address[];
  to: Address[];
  cc: Address[];
  bcc: Address[];
  replyTo: Address[];
  subject: string;
  body: string;
  metadata: Record<string, string>;
  replyToMessageId: string | null;
  tracking: TrackingWish | null;
  inReplyTo: string | null;
  references: string[];
  date: Date;
  hasAttachments: boolean;
}

// The stored provider id belongs to the previous version, which the provider write will replace. It
// is set to null here.
const WRITE = `
  insert into message (id, account_id, provider_id, thread_id, subject, snippet, date, from_addresses, to_addresses,
    cc_addresses, bcc_addresses, reply_to_addresses, participants, unread, starred, has_attachments, draft,
    message_id_header, in_reply_to, reference_ids, metadata, version, reply_to_message_id, tracking, created_at,
    updated_at)
  values ($2, $1, null, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, false, false, $19, true, $13, $14, $15, $16, $17,
    $18, $20, $6, $6)
  on conflict (id) do update set provider_id = null, thread_id = excluded.thread_id, subject = excluded.subject,
    snippet = excluded.snippet, date = excluded.date, from_addresses = excluded.from_addresses,
    to_addresses = excluded.to_addresses, cc_addresses = excluded.cc_addresses, bcc_addresses = excluded.bcc_addresses,
    reply_to_addresses = excluded.reply_to_addresses, participants = excluded.participants,
    message_id_header = excluded.message_id_header, in_reply_to = excluded.in_reply_to,
    reference_ids = excluded.reference_ids, metadata = excluded.metadata, version = excluded.version,
    reply_to_message_id = excluded.reply_to_message_id, tracking = excluded.tracking, has_attachments = excluded.has_attachments, updated_at = excluded.updated_at`;
const WRITE_BODY = `
  insert into message_body (message_id, body) values ($1, $2)
  on conflict (message_id) do update set body = excluded.body, headers = null`;
const ENTER_DRAFTS = `
  insert into message_folder (message_id, folder_id, date)
  select $2, f.id, $3 from folder f where f.account_id = $1 and f.name = 'drafts' order by f.id limit 1
  on conflict (message_id, folder_id) do update set date = excluded.date`;

/**
 * Writes a new draft or another version of one. Its thread must exist already.
 * @param snippet the beginning of its text
 */
export async function writeDraft(sql: Sql, draft: DraftVersionRow, snippet: string): Promise<void> {
  const { accountId, id, threadId, date } = draft;
  const lists = [draft.from, draft.to, draft.cc, draft.bcc];
  await sql.query(WRITE, [
    accountId,
    id,
    threadId,
    draft.subject,
    snippet,
    date,
    ...lists.map((list) => JSON.stringify(list)),
    JSON.stringify(draft.replyTo),
    peopleOf(draft),
    draft.messageIdHeader,
    draft.inReplyTo,
    draft.references,
    JSON.stringify(draft.metadata),
    draft.version,
    draft.replyToMessageId,
    draft.hasAttachments,
    draft.tracking && JSON.stringify(draft.tracking),
  ]);
  await sql.query(WRITE_BODY, [id, draft.body]);
  await sql.query(ENTER_DRAFTS, [accountId, id, date]);
}

const HIDE = `
  update message set deleting = true, updated_at = $4
  where account_id = $1 and id = $2 and version = $3 and draft and not deleting
  returning provider_id as "providerId", message_id_header as "messageIdHeader",
    (select t.id from thread t where t.id = thread_id and t.message_count > 0) as "threadId"`;

/** A draft that was hidden for deletion. */
export interface HiddenDraft extends RowOf<Message, 'providerId' | 'messageIdHeader'> {
  /** `null` if its thread is hidden because it has no messages. */
  threadId: string | null;
}

/**
 * Hides a draft until the provider has deleted it.
 * @returns `undefined` if the draft has another version or is hidden already
 */
export async function hideDraft(
  sql: Sql,
  { accountId, id, version }: { accountId: string; id: string; version: number },
  at: Date,
): Promise<HiddenDraft | undefined> {
  return (await sql.query<HiddenDraft>(HIDE, [accountId, id, version, at]))[0];
}

const SHOW = `
  update message set deleting = false, updated_at = $3 where account_id = $1 and id = $2 and deleting
  returning thread_id as "threadId"`;

/** Shows a hidden draft again. @returns `undefined` if the draft is not hidden */
export async function showDraft(
  sql: Sql,
  accountId: string,
  id: string,
  at: Date,
): Promise<{ threadId: string } | undefined> {
  return (await sql.query<RowOf<Message, 'threadId'>>(SHOW, [accountId, id, at]))[0];
}

const STORE_PROVIDER_ID = `
  update message set provider_id = $3
  where account_id = $1 and id = $2 and provider_id is null and ($4::text is null or message_id_header = $4)
  returning 1`;

/**
 * Stores the provider's id of a draft version that was without one.
 * @param messageIdHeader Message-ID of that version; `null` to accept any version
 * @returns false if the draft has another version by now, or already has a provider id
 */
export async function storeDraftProviderId(
  sql: Sql,
  accountId: string,
  id: string,
  providerId: string,
  messageIdHeader: string | null,
): Promise<boolean> {
  const stored = await sql.query(STORE_PROVIDER_ID, [accountId, id, providerId, messageIdHeader]);
  return stored.length > 0;
}
