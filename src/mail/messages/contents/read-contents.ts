import type { Sql } from '../../../platform/database/sql.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';
import type { MessageBody } from './message-content.entity.ts';
import { unpackText } from './packed-text.ts';

/*
 * Reading of contents of messages, in their present and their earlier form. A row that moves from
 * one table to the other is in one of them in the snapshot of each statement.
 *
 * Parameters of SQL are expressions. `account` must be a parameter of the statement: then PostgreSQL
 * opens one partition. With a column, it would open all.
 */

/** SQL of the length of a body in bytes, which does not read the body; `null` without a body. */
export const bodyBytes = (account: string, messageId: string): string => `coalesce(
    (select content.bytes from message_content content
     where content.account_id = ${account} and content.message_id = ${messageId}),
    (select octet_length(old.body) from message_body old where old.message_id = ${messageId}))`;

/** SQL of joins to the content of a message, which may be missing: `c`, else `b`. */
export const joinContent = (account: string, messageId: string): string => `
  left join message_content c on c.account_id = ${account} and c.message_id = ${messageId}
  left join message_body b on c.message_id is null and b.message_id = ${messageId}`;

/** Fields of the joins of `joinContent`, for `packedBody` and `warningsOf`. They read no body. */
export const CONTENT_FIELDS = `
  c.body as new_body, b.body as old_body, coalesce(c.bytes, octet_length(b.body)) as body_bytes,
  coalesce(c.warnings, b.warnings) as warnings`;

/** SQL of the length of a body with the joins of `joinContent`. */
export const CONTENT_BYTES = 'coalesce(c.bytes, octet_length(b.body), 0)';

/** A stored body; without one, both are `null`. */
export interface PackedBody {
  packedBody: Buffer | null;
  bodyBytes: number | null;
}

/** SQL of the columns of a `PackedBody`. @param row alias of a row with `CONTENT_FIELDS` */
export const packedBody = (row: string): string => `
  coalesce(${row}.new_body, convert_to(${row}.old_body, 'UTF8')) as "packedBody", ${row}.body_bytes as "bodyBytes"`;

/** Replaces the stored bodies of rows by their texts; `null` without one. */
export function unpackBodies<R extends PackedBody>(
  rows: readonly R[],
): Promise<(Omit<R, keyof PackedBody> & { body: string | null })[]> {
  return Promise.all(
    rows.map(async ({ packedBody: packed, bodyBytes: bytes, ...row }) => ({
      ...row,
      body: packed === null || bytes === null ? null : await unpackText({ packed, bytes }),
    })),
  );
}

const BODIES = `
  select x.id, ${packedBody('x')} from (
    select w.id, ${CONTENT_FIELDS} from unnest($2::uuid[]) w(id) ${joinContent('$1', 'w.id')}) x`;

/**
 * Bodies of messages that the caller knows to belong to the account, by message id. Messages
 * without a body are left out.
 */
export async function readBodies(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<{ id: string } & PackedBody>(BODIES, [accountId, ids]);
  const bodies = new Map<string, string>();
  for (const { id, body } of await unpackBodies(rows)) if (body !== null) bodies.set(id, body);
  return bodies;
}

const HEADERS = `
  select w.id, coalesce(convert_from(c.headers, 'UTF8'), b.headers) as headers
  from unnest($2::uuid[]) w(id) ${joinContent('$1', 'w.id')}`;

/**
 * Header lines of messages that the caller knows to belong to the account, by message id: those of
 * `keptHeaders`, or the whole block. Messages without a header block are left out.
 */
export async function readHeaders(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<{ id: string } & RowOf<MessageBody, 'headers'>>(HEADERS, [
    accountId,
    ids,
  ]);
  return new Map(rows.flatMap(({ id, headers }) => (headers === null ? [] : [[id, headers]])));
}
