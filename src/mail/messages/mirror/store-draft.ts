import type { Sql } from '../../../platform/database/sql.ts';
import type { TrackingWish } from '../../tracking/tracker.ts';
import { storeContents } from '../contents/store-contents.ts';
import {
  assignments,
  columnNames,
  HEADER_COLUMNS,
  type MessageHeaders,
  messageRecords,
  typedColumns,
} from './message-row.ts';
import type { Message } from '../message.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/* SQL of drafts, in the caller's transaction. Drafts are rows of `message`. */

export interface DraftVersionRow extends MessageHeaders {
  accountId: string;
  threadId: string;
  version: number;
  body: string;
  replyToMessageId: string | null;
  tracking: TrackingWish | null;
}

const COLUMNS = [...HEADER_COLUMNS, 'threadId', 'version', 'replyToMessageId', 'tracking'] as const;

// The stored provider id belongs to the previous version, which the provider write will replace. It
// is set to null here.
const WRITE = `
  insert into message (account_id, provider_id, unread, starred, draft, created_at, updated_at, ${columnNames(COLUMNS)})
  select $1, null, false, false, true, x.date, x.date, ${columnNames(COLUMNS, 'x')}
  from jsonb_to_recordset($2::jsonb) x(${typedColumns(COLUMNS)})
  on conflict (id) do update set provider_id = null, updated_at = excluded.updated_at,
    ${assignments(
      COLUMNS.filter((column) => column !== 'id'),
      'excluded',
    )}`;
const ENTER_DRAFTS = `
  insert into message_folder (message_id, folder_id, date)
  select $2, f.id, $3 from folder f where f.account_id = $1 and f.name = 'drafts' order by f.id limit 1
  on conflict (message_id, folder_id) do update set date = excluded.date`;

/**
 * Writes a new draft or another version of one. Its thread must exist already.
 * @param snippet the beginning of its text
 */
export async function writeDraft(sql: Sql, draft: DraftVersionRow, snippet: string): Promise<void> {
  const { accountId, id, date, body } = draft;
  await sql.query(WRITE, [accountId, messageRecords([{ ...draft, snippet }], COLUMNS)]);
  await storeContents(sql, accountId, [{ id, body, headers: null, warnings: [] }]);
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
