import { CONTENT_BYTES, packedBody } from '../contents/read-contents.ts';

/* SQL columns of messages, for `select … from message m`. Each is a column or a subquery. */

/**
 * The message that `m` replies to, if the mirror has it. Drafts written here know it; for other
 * messages it is the one that the In-Reply-To header names, or the oldest of several. Senders
 * choose Message-IDs, so any number of messages may have the same one; only some of them are read.
 */
const REPLIED_TO = `
  case when m.reply_to_message_id is not null or m.in_reply_to is null then m.reply_to_message_id else (
    select a.id from (
      select r.id from message r
      where r.account_id = m.account_id and r.message_id_header = m.in_reply_to and not r.draft
      limit 20) a
    order by a.id limit 1) end`;

/**
 * Columns of a file without its id. Subqueries read whole rows, ordered in a subquery:
 * `json_build_object` and an order inside of `json_agg` take more of PostgreSQL's time.
 */
export const FILE_COLUMNS = `filename, content_type as "contentType", content_disposition as "contentDisposition",
  content_id as "contentId", size`;

/**
 * For a draft written through the API its attached files, in their order. A draft that was sent
 * elsewhere keeps them. Asking first whether there are any takes a tenth of the time of a page,
 * because hardly any message has; `offset 0` keeps PostgreSQL from reading those of all accounts.
 */
const FILES = `
  case when exists (select from draft_file where message_id = m.id offset 0) then
    (select json_agg(d) from (select file_id as id, ${FILE_COLUMNS} from draft_file where message_id = m.id order by position) d)
  else coalesce(
    (select json_agg(f) from (select id, ${FILE_COLUMNS} from file where message_id = m.id order by part) f), '[]') end`;

const FOLDERS = `
  coalesce((
    select json_agg(f) from (
      select f.id, f.name, f.display_name as "displayName"
      from message_folder o join folder f on f.id = o.folder_id and not f.deleting
      where o.message_id = m.id order by o.folder_id) f), '[]')`;

/** Columns that messages show in every view, apart from their files, folders and date. */
const SHOWN = `
  m.id, m.subject, m.snippet, m.from_addresses as "from", m.to_addresses as "to", m.cc_addresses as "cc",
  m.bcc_addresses as "bcc", m.reply_to_addresses as "replyTo", m.unread, m.starred, m.metadata, m.draft, m.listed, m.version,
  m.tracking, ${REPLIED_TO} as "replyToMessageId",
  to_json(m.event_ids) as "eventIds"`;

/** Columns of a `StoredMessage` with a packed body. `m` also needs `CONTENT_FIELDS`. */
export const MESSAGE_COLUMNS = `${SHOWN}, ${FILES} as files, ${FOLDERS} as folders,
  m.account_id as "accountId", m.thread_id as "threadId", m.date, m.message_id_header as "messageIdHeader",
  m.in_reply_to as "inReplyTo", m.reference_ids as "references", ${packedBody('m')},
  coalesce(m.warnings, '[]') as warnings`;

/**
 * Columns of a message shown in its thread: without body and headers, with the date in Unix
 * seconds. Files and folders are read for all messages of a page together.
 */
export const THREAD_MESSAGE_COLUMNS = `${SHOWN}, floor(extract(epoch from m.date))::bigint as date`;

/**
 * Estimated memory of the addresses: each becomes an object. PostgreSQL may compress long values to
 * a ninetieth, so their uncompressed length is used.
 */
const addressBytes = ['from', 'to', 'cc', 'bcc', 'reply_to']
  .map((header) => `m.${header}_addresses`)
  .map(
    (column) =>
      `case when pg_column_size(${column}) > 250 then 4 * octet_length(${column}::text) else 0 end`,
  )
  .join(' + ');

/** Bytes of the addresses and the subject of a message `m`, which senders control. */
export const HEADER_BYTES = `(${addressBytes} + octet_length(m.subject))`;

/** Estimated bytes of a file in a list of files. Senders control how many files a message has. */
export const FILE_BYTES = 1000;

/**
 * Bytes of a message `m` joined with its content, used as `bytes` of a listing. The body
 * is measured without being read.
 */
export const MESSAGE_BYTES = `${CONTENT_BYTES} + ${HEADER_BYTES}
  + case when m.has_attachments then (select ${FILE_BYTES} * count(*) from file f where f.message_id = m.id) else 0 end`;
