/*
 * SQL columns of messages, for `select … from message m`. For a page of messages, files and folders
 * are found for all messages at once. That costs a fraction of one subquery per message, and each
 * folder is written as JSON only once.
 */

/**
 * The message that `m` replies to, if the mirror has it. Drafts written here know it; for other
 * messages it is the one that the In-Reply-To header names, or the oldest of several. Senders
 * choose Message-IDs, so any number of messages may have the same one; only some of them are read.
 */
const REPLIED_TO = `
  coalesce(m.reply_to_message_id, (
    select a.id from (
      select r.id from message r
      where r.account_id = m.account_id and r.message_id_header = m.in_reply_to and not r.draft
      limit 20) a
    order by a.id limit 1))`;

const shown = (files: string, folders: string): string => `
  m.id, m.subject, m.snippet, m.from_addresses as "from", m.to_addresses as "to", m.cc_addresses as "cc",
  m.bcc_addresses as "bcc", m.reply_to_addresses as "replyTo", m.unread, m.starred, m.metadata, m.draft, m.listed, m.version,
  m.tracking, ${REPLIED_TO} as "replyToMessageId", coalesce(${files}, '[]') as files, coalesce(${folders}, '[]') as folders,
  to_json(m.event_ids) as "eventIds"`;

const FILE = `json_build_object('id', f.id, 'filename', f.filename, 'contentType', f.content_type,
             'contentDisposition', f.content_disposition, 'contentId', f.content_id, 'size', f.size)`;

const FOLDER = `json_build_object('id', f.id, 'name', f.name, 'displayName', f.display_name)`;

/**
 * Files of messages; for a draft its attached files, in their order.
 * @param messages SQL source with a column `id`
 */
const filesOf = (messages: string): string => `
          select f.message_id, f.id, f.filename, f.content_type, f.content_disposition, f.content_id, f.size, f.part
          from ${messages} p join file f on f.message_id = p.id
          where not exists (select 1 from draft_file d where d.message_id = p.id)
          union all
          select d.message_id, d.file_id, d.filename, d.content_type, d.content_disposition, d.content_id, d.size,
            d.position
          from ${messages} p join draft_file d on d.message_id = p.id`;

/** Columns of a `StoredMessage`. Needs `messageParts` and `MESSAGE_JOINS`. */
export const MESSAGE_COLUMNS = `${shown('mp.files', 'mf.folders')},
  m.account_id as "accountId", m.thread_id as "threadId", m.date, m.message_id_header as "messageIdHeader",
  m.in_reply_to as "inReplyTo", m.reference_ids as "references",
  (select b.body from message_body b where b.message_id = m.id) as body`;

/**
 * Columns of a message shown in its thread: without body and headers, and with the date in Unix
 * seconds. Needs no joins. Files and folders are subqueries, because the planner cannot estimate
 * the length of a thread and would join every row with every other.
 */
export const THREAD_MESSAGE_COLUMNS = `${shown(
  `(select json_agg(${FILE} order by f.part) from (${filesOf('(select m.id)')}) f)`,
  `(select json_agg(${FOLDER} order by f.id)
    from message_folder o join folder f on f.id = o.folder_id and not f.deleting where o.message_id = m.id)`,
)}, floor(extract(epoch from m.date))::bigint as date`;

/**
 * Common table expressions with the files and folders of messages.
 * @param messages name of an earlier expression with the messages' `id`
 */
export const messageParts = (messages: string): string => `
  message_files as materialized (
    select f.message_id, json_agg(${FILE} order by f.part) as files
    from (${filesOf(messages)}) f
    group by f.message_id),
  message_places as materialized (
    select o.message_id, o.folder_id from ${messages} p join message_folder o on o.message_id = p.id),
  message_folders as materialized (
    select o.message_id, json_agg(f.folder order by f.id) as folders
    from message_places o
    join (select f.id, ${FOLDER} as folder
          from (select distinct folder_id from message_places) x join folder f on f.id = x.folder_id and not f.deleting
          offset 0) f on f.id = o.folder_id
    group by o.message_id)`;

/** Joins `m` to the expressions of `messageParts`. */
export const MESSAGE_JOINS = `
  left join message_files mp on mp.message_id = m.id left join message_folders mf on mf.message_id = m.id`;

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

/**
 * Bytes that senders control in a message `m` apart from its body: addresses, subject and list of
 * files.
 */
export const HEADER_BYTES = `(${addressBytes} + octet_length(m.subject)
  + case when m.has_attachments then (select 1000 * count(*) from file f where f.message_id = m.id) else 0 end)`;

/**
 * Bytes of a message `m`, used as `bytes` of a listing. The body is measured without being read.
 */
export const MESSAGE_BYTES = `
  coalesce((select octet_length(b.body) from message_body b where b.message_id = m.id), 0) + ${HEADER_BYTES}`;
