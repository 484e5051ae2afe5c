import { idOfMessageId, markDigest, type ReadMark } from '../../formats/mime/message-mark.ts';
import { withBcc } from '../../formats/mime/with-bcc.ts';
import { recordset, type Sql } from '../../platform/database/sql.ts';
import type { OutboxMessage } from './outbox-message.entity.ts';
import type { RowOf, NotNull } from '../../platform/database/rows/row-of.ts';
import type { JobStatus } from '../../job-statuses/job-status.entity.ts';

/** A message that was sent through the outbox. Clients already know its ids. */
export interface SentByUs
  extends
    RowOf<OutboxMessage, 'messageIdHeader' | 'storedProviderId'>,
    NotNull<RowOf<JobStatus, 'messageId' | 'threadId'>> {
  metadata: Record<string, string> | null;
  /** Whether the mirror has a message with this id. */
  mirrored: boolean;
}

/**
 * Key of a sender's copy that its provider has named. It cannot be a Message-ID, which begins with
 * an angle bracket.
 */
export const storedCopyKey = (providerId: string): string => `copy:${providerId}`;

const NAME_COPIES = `
  with given as materialized (
    select * from jsonb_to_recordset($2::jsonb) x(id uuid, message_id_header text, provider_id text)),
  sent as (
    select o.id, x.provider_id from given x join outbox_message o using (id, message_id_header)
    where o.account_id = $1
    union
    select o.id, x.provider_id from given x join outbox_message o using (message_id_header)
    where o.account_id = $1 and o.foreign_header)
  update outbox_message o set stored_provider_id = s.provider_id
  from sent s where o.id = s.id and o.stored_provider_id is null`;

/** Newest messages of an account that are compared with marks that name no row. */
const MOST_COMPARED = 1_000;
const MARKED = `
  select message_id_header as "messageIdHeader" from outbox_message where account_id = $1 and id = any($2::uuid[])`;
const NEWEST = `
  select message_id_header as "messageIdHeader" from outbox_message where account_id = $1
  order by id desc limit ${MOST_COMPARED}`;

/**
 * Message-IDs of sent messages that may be those with these marks. Compare them.
 * @param marks of copies in Sent. If a mark names no message by its id, because the sender chose
 *   the Message-ID, the newest 1,000 messages of the account are returned as well
 */
export async function headersForMarks(
  sql: Sql,
  accountId: string,
  marks: readonly ReadMark[],
): Promise<string[]> {
  const ids = marks.flatMap(({ id }) => id ?? []);
  const rows = await sql.query<RowOf<OutboxMessage, 'messageIdHeader'>>(MARKED, [accountId, ids]);
  const found = new Set(rows.map(({ messageIdHeader }) => markDigest(messageIdHeader)));
  const others = marks.every(({ digest }) => found.has(digest))
    ? []
    : await sql.query<(typeof rows)[number]>(NEWEST, [accountId]);
  return [...new Set([...rows, ...others].map(({ messageIdHeader }) => messageIdHeader))];
}

/** Stores the provider's ids of the sender's copies of messages, unless they are known. */
export async function nameStoredCopies(
  sql: Sql,
  accountId: string,
  copies: readonly { messageIdHeader: string; providerId: string }[],
): Promise<void> {
  if (copies.length === 0) return;
  const rows = copies.map((copy) => ({ ...copy, id: idOfMessageId(copy.messageIdHeader) }));
  await sql.query(NAME_COPIES, [accountId, recordset(rows)]);
}

const COLUMNS = `
  o.message_id_header as "messageIdHeader", s.message_id as "messageId", s.thread_id as "threadId",
  o.content -> 'metadata' as metadata, o.stored_provider_id as "storedProviderId",
  exists (select 1 from message m where m.id = s.message_id) as mirrored`;

const SENT = `
  with sent as (
    select id from outbox_message
    where id = any($2::uuid[]) and account_id = $1 and message_id_header = any($3::text[])
    union
    select id from outbox_message where account_id = $1 and message_id_header = any($3::text[]) and foreign_header
    union
    select id from outbox_message where account_id = $1 and stored_provider_id = any($4::text[]))
  select ${COLUMNS}
  from sent join outbox_message o using (id) join job_status s using (id)
  where s.message_id is not null and s.thread_id is not null
  order by s.status <> 'failed', o.id`;

// A sync pass that stored the copy first may have given the job another message
// (`recordStoredCopies`): then that message is mirrored.
const UNMIRRORED = `
  select s.id, ${COLUMNS}
  from job_status s join outbox_message o using (id)
  where s.id = any($2::uuid[]) and s.account_id = $1 and s.status = 'successful'
    and s.message_id is not null and s.thread_id is not null
    and not exists (select 1 from message m where m.id = s.message_id)`;

// Sent messages in the mirror that have no copy yet, and messages of the outbox that the mirror
// lacks: those being sent, and large ones.
const AWAITED = `
  select min(since) as since from (
    select created_at as since from message where account_id = $1 and provider_id is null and not draft
    union all
    select greatest(s.created_at, s.send_at) from (
      select id from outbox_message where account_id = $1 order by id desc limit ${MOST_COMPARED}) o
    join job_status s using (id)
    where s.status in ('pending', 'delayed', 'successful') and s.updated_at > now() - interval '1 day'
      and (s.send_at is null or s.send_at <= now())
      and not exists (select 1 from message m where m.id = s.message_id)) waiting`;

/**
 * When the oldest message was sent, or due to be sent, whose copy the provider may still report.
 * Messages that the mirror does not have are counted for a day after their job has changed, among
 * the newest 1,000.
 * @returns `null` if the account waits for no copy
 */
export async function copiesAwaitedSince(sql: Sql, accountId: string): Promise<Date | null> {
  const [row] = await sql.query<{ since: Date | null }>(AWAITED, [accountId]);
  return row?.since ?? null;
}

// Finds the row of the outbox by the Message-ID. Several rows can have the same one: the job of a
// row names its message.
const UNREPORTED = `
  with sent(header) as (
    select message_id_header from message
    where account_id = $1 and id = $2 and provider_id is null and not draft),
  found as (
    select o.id from sent join outbox_message o on o.id = case
        when header ~ '^<[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' then substr(header, 2, 36)::uuid end
    where o.account_id = $1 and o.message_id_header = header
    union
    select o.id from sent join outbox_message o on o.message_id_header = header
    where o.account_id = $1 and o.foreign_header)
  select o.mime, o.bcc
  from found join outbox_message o using (id) join job_status s using (id) where s.message_id = $2`;

/**
 * The sender's copy of a message that was sent from here and that the provider has not reported
 * yet.
 * @returns `null` for any other message
 */
export async function textOfUnreported(
  sql: Sql,
  accountId: string,
  messageId: string,
): Promise<Buffer | null> {
  const values = [accountId, messageId];
  const [row] = await sql.query<RowOf<OutboxMessage, 'mime'> & { bcc: { email: string }[] }>(
    UNREPORTED,
    values,
  );
  return row ? withBcc(row.mime, row.bcc) : null;
}

/** Longer messages are not added to the mirror at once; sync passes add them. */
export const MOST_BYTES_AT_ONCE = 1024 * 1024;
const TEXTS = `
  select o.id, o.account_id as "accountId", o.mime, o.bcc from outbox_message o
  where o.id = any($1::uuid[]) and octet_length(o.mime) <= ${MOST_BYTES_AT_ONCE}
    and exists (select 1 from folder f where f.account_id = o.account_id and f.name = 'sent')`;

type SentText = RowOf<OutboxMessage, 'id' | 'accountId' | 'mime'>;

/**
 * The sender's copies of messages that workers have just sent, for mailboxes whose Sent folder is
 * mirrored. Copies of more than 1 MB are left out.
 * @param ids of rows of the outbox
 */
export async function textsOfSent(sql: Sql, ids: readonly string[]): Promise<SentText[]> {
  const rows = await sql.query<SentText & { bcc: { email: string }[] }>(TEXTS, [ids]);
  return rows.map(({ bcc, ...sent }) => ({ ...sent, mime: withBcc(sent.mime, bcc) }));
}

/**
 * Sent messages that the mirror does not have under their announced ids.
 * @param ids of rows of the outbox
 * @returns messages by their ids. Left out are messages that failed, that have no copy, or that the
 *   mirror has already
 */
export async function unmirroredSent(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<Map<string, SentByUs>> {
  const rows = await sql.query<SentByUs & { id: string }>(UNMIRRORED, [accountId, ids]);
  return new Map(rows.map(({ id, ...sent }) => [id, sent]));
}

/**
 * Finds messages that were sent from here. Most of their Message-IDs begin with the id of the row;
 * some were chosen by the sender. If the provider named the sender's copy, the message is found by
 * that name too, because the provider may have changed the Message-ID.
 * @param copies provider ids of messages that may be such copies
 * @returns messages by Message-ID and by `storedCopyKey`
 */
export async function sentByUs(
  sql: Sql,
  accountId: string,
  headers: readonly string[],
  copies: readonly string[] = [],
): Promise<Map<string, SentByUs>> {
  const ids = headers.map(idOfMessageId).filter((id) => id !== null);
  if (headers.length + copies.length === 0) return new Map();
  const rows = await sql.query<SentByUs>(SENT, [accountId, ids, headers, copies]);
  return new Map(
    rows.flatMap((row): [string, SentByUs][] => [
      [row.messageIdHeader, row],
      ...(row.storedProviderId === null
        ? []
        : [[storedCopyKey(row.storedProviderId), row] as [string, SentByUs]]),
    ]),
  );
}
