import type { Address } from '../../../platform/base/text/address.ts';
import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import type { MessageMarks } from '../../../providers/port/connector.ts';
import { readBodies } from '../contents/read-contents.ts';
import type { Message } from '../message.entity.ts';
import type { RowOf, NotNull } from '../../../platform/database/rows/row-of.ts';

/*
 * SQL with which a sync pass reads mirrored messages before it stores a batch. The number of
 * statements does not depend on the number of messages.
 */

/** A message in the mirror. */
export interface KnownMessage extends RowOf<
  Message,
  'id' | 'providerId' | 'threadId' | 'date' | 'unread' | 'starred' | 'draft' | 'messageIdHeader'
> {
  /** Provider ids of its folders. */
  folderIds: readonly string[];
  /** Our ids of the same folders. */
  folders: readonly string[];
  from: readonly Address[];
}

/**
 * An unplaced message: it disappeared from its folder, or the provider has not reported its id yet.
 * It may reappear under another id.
 */
export interface UnplacedMessage extends KnownMessage {
  /** Content key of a message without a Message-ID; `null` if the message has one. */
  contentKey: string | null;
}

/** The content of a message, as far as it is compared. */
export interface MessageContents extends RowOf<Message, 'subject'> {
  body: string;
  from: readonly Address[];
  to: readonly Address[];
  cc: readonly Address[];
  files: readonly { filename: string; size: number }[];
}

/** Key that identifies a message without a Message-ID by its content. */
export function contentKey(message: MessageContents): string {
  const addresses = [message.from, message.to, message.cc].map((list) =>
    list.map(({ email }) => email),
  );
  const files = message.files.map(({ filename, size }) => [filename, size]);
  return JSON.stringify([message.subject, addresses, message.body, files]);
}

const MESSAGE = `
  m.id, m.provider_id as "providerId", m.thread_id as "threadId", m.date, m.unread, m.starred, m.draft,
  m.message_id_header as "messageIdHeader", m.from_addresses as "from",
  array(select mf.folder_id from message_folder mf where mf.message_id = m.id) as folders,
  array(select f.provider_id from message_folder mf join folder f on f.id = mf.folder_id
        where mf.message_id = m.id and f.provider_id is not null) as "folderIds"`;

// The rows are locked until the transaction ends. So a change through the API either is visible
// here with its open write, or waits until this batch is stored.
const KNOWN = `
  select ${MESSAGE} from message m where m.account_id = $1 and m.provider_id = any($2::text[])
  order by m.id for no key update of m`;

// Unplaced messages: removed now, vanished earlier, or written here and without a provider id so
// far.
const UNPLACED = `
  with unplaced(id) as (
    select id from message where account_id = $1 and provider_id = any($2::text[])
    union
    select v.message_id from vanished_message v join message m on m.id = v.message_id
    where v.account_id = $1 and (m.message_id_header = any($3::text[]) or ($4 and m.message_id_header is null))
    union
    select id from message where account_id = $1 and message_id_header = any($3::text[]) and provider_id is null
    union
    select id from message where account_id = $1 and id = any($5::uuid[]) and provider_id is null)
  select ${MESSAGE} from unplaced join message m using (id) order by m.id for no key update of m`;

const CONTENTS = `
  select m.id, m.subject, m.from_addresses as "from", m.to_addresses as "to", m.cc_addresses as cc,
    (select coalesce(json_agg(json_build_object('filename', f.filename, 'size', f.size) order by f.part), '[]')
     from file f where f.message_id = m.id) as files
  from message m where m.account_id = $1 and m.id = any($2::uuid[]) and not m.listed`;

/**
 * Locks mirrored messages until the transaction ends.
 * @returns the messages that exist, by their provider ids
 */
export async function lockKnown(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
): Promise<Map<string, KnownMessage>> {
  if (providerIds.length === 0) return new Map();
  const rows = await sql.query<KnownMessage & NotNull<RowOf<Message, 'providerId'>>>(KNOWN, [
    accountId,
    providerIds,
  ]);
  return new Map(rows.map((row) => [row.providerId, row]));
}

/**
 * Locks unplaced messages until the transaction ends. New messages of a batch may be the same
 * messages: removed with the batch, vanished earlier, or written here.
 * @param removed provider ids of removed messages
 * @param wanted what the new messages may be: `headers` are their Message-IDs, `copies` ids of sent
 *   messages whose copies they are; `nameless` is true if some have no Message-ID
 */
export async function lockUnplaced(
  sql: Sql,
  accountId: string,
  removed: readonly string[],
  wanted: { headers: readonly string[]; copies: readonly string[]; nameless: boolean },
): Promise<UnplacedMessage[]> {
  const { headers, copies, nameless } = wanted;
  if (removed.length + headers.length + copies.length === 0 && !nameless) return [];
  const values = [accountId, removed, headers, nameless, copies];
  const rows = await sql.query<KnownMessage>(UNPLACED, values);
  const compared = nameless ? rows.filter(({ messageIdHeader }) => messageIdHeader === null) : [];
  const keys = await contentKeys(sql, accountId, idsOf(compared));
  return rows.map((row) => ({ ...row, contentKey: keys.get(row.id) ?? null }));
}

// Drafts are left out: another version of a draft may have the same Message-ID.
const RECOGNISABLE = `
  with unplaced(id) as (
    select id from message where account_id = $1 and provider_id = any($2::text[])
    union
    select message_id from vanished_message where account_id = $1)
  select m.message_id_header as "messageIdHeader", m.date as "receivedAt"
  from unplaced join message m using (id)
  where m.message_id_header = any($3::text[]) and not m.draft and not m.listed`;

/**
 * Finds out which messages of the provider the mirror has under an id that is no longer valid: it
 * was removed, or the message has vanished. A message of the mirror stands for one of the
 * provider's messages; those that were received at the same time come first.
 * @param removed provider ids
 * @returns one value for each message
 */
export async function recognise(
  sql: Sql,
  accountId: string,
  removed: readonly string[],
  messages: readonly MessageMarks[],
): Promise<boolean[]> {
  const headers = messages.map(({ messageIdHeader }) => messageIdHeader);
  const rows = await sql.query<MessageMarks>(RECOGNISABLE, [accountId, removed, headers]);
  const left = Map.groupBy(rows, (row) => row.messageIdHeader);
  const isRecognised = messages.map((message) => takeSame(left, message, true));
  return messages.map((message, index) => isRecognised[index] || takeSame(left, message, false));
}

/** Takes out a message with this Message-ID, if there is one. */
function takeSame(
  left: ReadonlyMap<string, MessageMarks[]>,
  { messageIdHeader, receivedAt }: MessageMarks,
  sameTime: boolean,
): boolean {
  const rows = left.get(messageIdHeader) ?? [];
  const index = rows.findIndex(
    (row) => !sameTime || row.receivedAt.getTime() === receivedAt.getTime(),
  );
  if (index !== -1) rows.splice(index, 1);
  return index !== -1;
}

/** The caller has locked the messages, so that their bodies stay as they are. */
async function contentKeys(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<{ id: string } & Omit<MessageContents, 'body'>>(CONTENTS, [
    accountId,
    ids,
  ]);
  const bodies = await readBodies(sql, accountId, idsOf(rows));
  return new Map(
    rows.map((row) => [row.id, contentKey({ ...row, body: bodies.get(row.id) ?? '' })]),
  );
}

const MIRRORED = `
  select provider_id as "providerId" from message where account_id = $1 and provider_id = any($2::text[])`;

/** Returns the given provider ids whose messages are in the mirror. */
export async function mirroredIds(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
): Promise<Set<string>> {
  if (providerIds.length === 0) return new Set();
  const rows = await sql.query<NotNull<RowOf<Message, 'providerId'>>>(MIRRORED, [
    accountId,
    providerIds,
  ]);
  return new Set(rows.map(({ providerId }) => providerId));
}

const KNOWN_IN_FOLDER = `
  select m.provider_id as "providerId"
  from folder f join message_folder mf on mf.folder_id = f.id join message m on m.id = mf.message_id
  where f.account_id = $1 and f.provider_id = $2 and m.provider_id is not null
    and not exists (select 1 from vanished_message v where v.message_id = m.id)`;

/**
 * Provider ids of the messages in a folder of the mirror, except those that have vanished from it.
 */
export async function idsInFolder(
  sql: Sql,
  accountId: string,
  folderProviderId: string,
): Promise<string[]> {
  const values = [accountId, folderProviderId];
  const rows = await sql.query<NotNull<RowOf<Message, 'providerId'>>>(KNOWN_IN_FOLDER, values);
  return rows.map(({ providerId }) => providerId);
}
