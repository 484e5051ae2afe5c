import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { columnsOf, type Sql } from '../../../platform/database/sql.ts';
import { moveHasBegun } from '../../../platform/moves/table-moves.ts';
import { keptHeaders } from './kept-headers.ts';
import { packText } from './packed-text.ts';

/** Name of the move from `message_body` to `message_content`. */
export const CONTENTS_MOVE = 'message_content';

/** The content of a message, as it was received. */
export interface NewContent {
  id: string;
  /** HTML. */
  body: string;
  /** The whole header block; `null` if there is none, as for drafts. */
  headers: string | null;
  /** What of the message could not be read or was guessed, in plain words. */
  warnings: readonly string[];
}

const STORE = `
  with given as (
    select * from unnest($2::uuid[], $3::bytea[], $4::int[], $5::bytea[], $6::jsonb[]) x(id, body, bytes, headers, warnings)),
  moved as (delete from message_body b using given x where b.message_id = x.id)
  insert into message_content (account_id, message_id, body, bytes, headers, warnings)
  select $1, id, body, bytes, headers, warnings from given
  on conflict (account_id, message_id) do update set body = excluded.body, bytes = excluded.bytes,
    headers = excluded.headers, warnings = excluded.warnings, object_key = null, object_digest = null`;

// Processes of the release before read only this table.
const STORE_OLD = `
  insert into message_body (message_id, body, headers, warnings)
  select * from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[])
  on conflict (message_id) do update set body = excluded.body, headers = excluded.headers, warnings = excluded.warnings`;

/**
 * Stores contents of messages of an account, or replaces them, in the transaction in which the
 * caller has inserted or locked the messages. The lock keeps the move of the old rows out.
 */
export async function storeContents(
  sql: Sql,
  accountId: string,
  contents: readonly NewContent[],
): Promise<void> {
  if (contents.length === 0) return;
  if (await moveHasBegun(sql, CONTENTS_MOVE)) return storeNewForm(sql, accountId, contents);
  const warnings = contents.map((content) => JSON.stringify(content.warnings));
  await sql.query(STORE_OLD, [...columnsOf(contents, 'id', 'body', 'headers'), warnings]);
}

/** Stores contents in their present form, and deletes them in the old one. */
export async function storeNewForm(
  sql: Sql,
  accountId: string,
  contents: readonly NewContent[],
): Promise<void> {
  const rows = [];
  for (const { id, body, headers, warnings } of contents) {
    rows.push({
      id,
      ...(await packText(body)),
      headers: headers === null ? null : Buffer.from(keptHeaders(headers), 'utf8'),
      warnings: JSON.stringify(warnings),
    });
    // Compressing takes some tenths of a millisecond; requests must not wait for a whole batch.
    await yieldToOthers();
  }
  const columns = columnsOf(rows, 'id', 'packed', 'bytes', 'headers', 'warnings');
  await sql.query(STORE, [accountId, ...columns]);
}

const DELETE = `delete from message_content where account_id = $1 and message_id = any($2::uuid[])`;

/**
 * Deletes contents of messages that the caller has deleted in the same transaction, before this
 * statement: it sees what was stored while that deletion waited for a lock.
 */
export async function deleteContents(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<void> {
  await sql.query(DELETE, [accountId, ids]);
}

/**
 * Statements that delete the contents of all messages of account `$1`, before or after the messages
 * are deleted in the same transaction. The lock keeps the move from adding rows in between.
 */
export const DELETIONS_OF_CONTENTS = [
  'select 1 from message where account_id = $1 order by id for update',
  'delete from message_content where account_id = $1',
];
