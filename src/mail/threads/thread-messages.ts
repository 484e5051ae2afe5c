import {
  admitPage,
  LARGE_PAGE_BYTES,
  MAX_PAGE_BYTES,
  PageTooLargeError,
} from '../../platform/database/listing.ts';
import { idsOf, type Sql } from '../../platform/database/sql.ts';
import {
  FILE_BYTES,
  FILE_COLUMNS,
  HEADER_BYTES,
  THREAD_MESSAGE_COLUMNS,
} from '../messages/filters/message-columns.ts';
import type { MessageFileRecord, MessageFolderRecord } from '../messages/filters/message-filter.ts';
import type { StoredThreadMessage } from './thread-filter.ts';

/*
 * The messages of a page of threads. A conversation may have hundreds of messages, and their rows
 * lie far apart. So messages, files and folders are each read by one statement for all threads.
 * With subqueries for each message, PostgreSQL would read twice as many pages (ADR 0153).
 */

/** Estimated bytes of a message without its addresses, subject and files. */
const MESSAGE_BYTES = 1000;

/** If the messages have more than $3 bytes, one row with the size of them and their files. */
const MESSAGES = `
  select ${THREAD_MESSAGE_COLUMNS}, m.thread_id as "threadId", m.all_bytes as bytes,
    case when m.all_bytes > $3 then (
      select count(*)::int from message o join file f on f.message_id = o.id
      where o.account_id = $1 and o.thread_id = any($2::uuid[])) end as "fileCount"
  from (
    select m.*, sum((${MESSAGE_BYTES} + ${HEADER_BYTES})::float8) over () as all_bytes, row_number() over () as message_row
    from message m where m.account_id = $1 and m.thread_id = any($2::uuid[]) and not m.deleting) m
  where m.all_bytes <= $3 or m.message_row = 1
  order by m.date, m.id`;

/** If there are more than $2 files, one of them. */
const FILES = `
  select "messageId", "fileCount", "ofDraft", id, filename, "contentType", "contentDisposition", "contentId", size
  from (
    select f.*, count(*) over () as "fileCount", row_number() over () as file_row
    from (
      select message_id as "messageId", true as "ofDraft", position as place, file_id as id, ${FILE_COLUMNS}
      from draft_file where message_id = any($1::uuid[])
      union all
      select message_id, false, part, id, ${FILE_COLUMNS} from file where message_id = any($1::uuid[])) f) f
  where "fileCount" <= $2::bigint or file_row = 1
  order by place`;

const FOLDERS = `
  select o.message_id as "messageId", f.id, f.name, f.display_name as "displayName"
  from message_folder o join folder f on f.id = o.folder_id and not f.deleting
  where o.message_id = any($2::uuid[]) and f.account_id = $1
  order by o.folder_id`;

type MessageRow = Omit<StoredThreadMessage, 'files' | 'folders'> & {
  threadId: string;
  bytes: number;
  fileCount: number | null;
};
type FileRow = MessageFileRecord & { messageId: string; fileCount: number; ofDraft: boolean };
type FolderRow = MessageFolderRecord & { messageId: string };

/** Messages by thread, or how many bytes they have because they are too long. */
type Found = { messages: Map<string, StoredThreadMessage[]> } | { tooLong: number };

/**
 * Reads the messages and drafts of threads, oldest first, without their bodies. Messages that are
 * longer than 8 MB together wait until memory is free for them.
 * @param threadIds threads of the account, at least one
 * @returns messages by the id of their thread
 * @throws {PageTooLargeError} if the messages of several threads are longer than `MAX_PAGE_BYTES`
 */
export async function readThreadMessages(
  sql: Sql,
  accountId: string,
  threadIds: readonly string[],
): Promise<ReadonlyMap<string, StoredThreadMessage[]>> {
  const read = (most: number) => readWithin(sql, accountId, threadIds, most);
  const found = await read(LARGE_PAGE_BYTES);
  if ('messages' in found) return found.messages;
  const most = threadIds.length === 1 ? Number.MAX_SAFE_INTEGER : MAX_PAGE_BYTES;
  const large = await admitPage(threadIds.length, found.tooLong, () => read(most));
  if ('messages' in large) return large.messages;
  throw new PageTooLargeError(MAX_PAGE_BYTES);
}

async function readWithin(
  sql: Sql,
  accountId: string,
  threadIds: readonly string[],
  most: number,
): Promise<Found> {
  const rows = await sql.query<MessageRow>(MESSAGES, [accountId, threadIds, most]);
  const [first] = rows;
  if (!first) return { messages: new Map() };
  const { bytes, fileCount } = first;
  if (fileCount !== null) return { tooLong: bytes + FILE_BYTES * fileCount };
  const ids = idsOf(rows);
  const mostFiles = Math.floor((most - bytes) / FILE_BYTES);
  const files = await sql.query<FileRow>(FILES, [ids, mostFiles]);
  const count = files[0]?.fileCount ?? 0;
  if (count > mostFiles) return { tooLong: bytes + FILE_BYTES * count };
  const folders = await sql.query<FolderRow>(FOLDERS, [accountId, ids]);
  return { messages: byThread(rows, files, folders) };
}

function byThread(
  rows: readonly MessageRow[],
  files: readonly FileRow[],
  folders: readonly FolderRow[],
): Map<string, StoredThreadMessage[]> {
  const filesOf = Map.groupBy(files, ({ messageId }) => messageId);
  const foldersOf = Map.groupBy(folders, ({ messageId }) => messageId);
  const messages = new Map<string, StoredThreadMessage[]>();
  for (const row of rows) {
    const { id, threadId } = row;
    // Not copied: a page may have hundreds of messages.
    const message = Object.assign(row, {
      files: shownFiles(filesOf.get(id) ?? []),
      folders: foldersOf.get(id) ?? [],
    });
    const known = messages.get(threadId);
    if (known) known.push(message);
    else messages.set(threadId, [message]);
  }
  return messages;
}

/** The attached files of a draft written through the API, or the files of any other message. */
function shownFiles(files: readonly FileRow[]): MessageFileRecord[] {
  const isDraft = files.some(({ ofDraft }) => ofDraft);
  return files.filter(({ ofDraft }) => ofDraft === isDraft);
}
