import { newId } from '../../platform/base/ids/ids.ts';
import { idsOf, recordset, type Sql } from '../../platform/database/sql.ts';
import type { ParsedFile } from '../parsing/mime-parser.ts';

/* SQL of attachment rows, in the caller's transaction. */

export interface NewAttachment extends ParsedFile {
  messageId: string;
}

const INSERT = `
  insert into file (id, account_id, message_id, part, section, filename, content_type, content_disposition, content_id, size)
  select x.id, $1, x.message_id, x.part, x.section, x.filename, x.content_type, x.content_disposition, x.content_id, x.size
  from jsonb_to_recordset($2::jsonb) x(id uuid, message_id uuid, part integer, section text, filename text,
    content_type text, content_disposition text, content_id text, size integer)`;

/**
 * Inserts attachments whose bytes are at the provider. Their messages must exist already.
 * @returns ids of the attachments
 */
export async function insertAttachments(
  sql: Sql,
  accountId: string,
  attachments: readonly NewAttachment[],
): Promise<string[]> {
  if (attachments.length === 0) return [];
  const rows = attachments.map((file) => ({ ...file, id: newId() }));
  await sql.query(INSERT, [accountId, recordset(rows)]);
  return idsOf(rows);
}

const DELETE_OTHERS =
  'delete from file where message_id = $1 and not (id = any($2::uuid[])) returning id';

/**
 * Deletes the attachments of a message except those in `kept`.
 * @returns ids of the deleted attachments
 */
export async function deleteOtherAttachments(
  sql: Sql,
  messageId: string,
  kept: readonly string[],
): Promise<string[]> {
  const deleted = await sql.query<{ id: string }>(DELETE_OTHERS, [messageId, kept]);
  return idsOf(deleted);
}

const DELETE = 'delete from file where message_id = any($1::uuid[]) and id <> all($2::uuid[])';

/** Deletes the attachments of messages except those in `kept`. */
export async function deleteAttachments(
  sql: Sql,
  messageIds: readonly string[],
  kept: readonly string[],
): Promise<void> {
  await sql.query(DELETE, [messageIds, kept]);
}

const STORE_BYTES = 'update file set data_id = $3, size = $4 where id = $2 and message_id = $1';

/**
 * Stores the location of an attachment's bytes. Does nothing if the file is not an attachment of
 * the message.
 */
export async function storeAttachmentBytes(
  sql: Sql,
  {
    messageId,
    fileId,
    dataId,
    size,
  }: { messageId: string; fileId: string; dataId: string; size: number },
): Promise<void> {
  await sql.query(STORE_BYTES, [messageId, fileId, dataId, size]);
}
