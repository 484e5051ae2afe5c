import type { Sql } from '../../../platform/database/sql.ts';
import type { MoveSteps } from '../../../platform/moves/move-runner.ts';
import { FIELD, keyedLetter } from '../../../formats/text/lexemes.ts';
import { NEW_TABLE } from './stored-documents.ts';

/** Most documents per step. A step takes about half a second. */
const BATCH = 500;

// Marks the place of the key first, because a word may begin like a key.
const MARKED = `replace(d.document::text, '''' || translate(encode(substring(uuid_send(d.account_id) from 14), 'base64'), '+/', '-_'), '''' || chr(1))`;

/** The document with plain lexemes instead of keyed ones (`formats/text/lexemes.ts`). */
const PLAIN = Object.values(FIELD).reduce(
  (text, field) => `replace(${text}, '''' || chr(1) || '${keyedLetter(field)}', '''${field}')`,
  MARKED,
);

// Writers lock a message before they change its document. The account's row is locked before its
// messages are deleted.
const MOVE = `
  with batch as materialized (
    select d.message_id from message_search d
      join "grant" g on g.id = d.account_id join message m on m.id = d.message_id
    order by d.message_id limit ${BATCH}
    for key share of g skip locked for no key update of m skip locked),
  moved as (
    delete from message_search d using batch b where d.message_id = b.message_id
    returning d.account_id, d.message_id, d.date, ${PLAIN}::tsvector as document),
  stored as (
    insert into search_document (account_id, message_id, date, document)
    select account_id, message_id, date, document from moved
    on conflict (account_id, message_id) do nothing)
  select count(*)::int as count from moved`;

/** Moves search documents of an earlier release to the table with partitions (ADR 0167). */
export const MOVE_OF_DOCUMENTS: MoveSteps = {
  name: NEW_TABLE,
  async step(sql: Sql): Promise<number> {
    const [moved] = await sql.query<{ count: number }>(MOVE);
    return moved?.count ?? 0;
  },
};
