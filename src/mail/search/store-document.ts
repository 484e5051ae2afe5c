import { columnsOf, idsOf, type Sql } from '../../platform/database/sql.ts';
import {
  documentFor,
  type Searchable,
  searchDocument,
} from '../../formats/text/search-document.ts';

const STORE = `
  insert into message_search (message_id, account_id, date, document)
  select m.id, m.account_id, m.date, x.document::tsvector
  from unnest($2::uuid[], $3::text[]) x(id, document)
  join message m on m.id = x.id and m.account_id = $1
  on conflict (message_id) do update set date = excluded.date, document = excluded.document`;

/**
 * Stores the search documents of messages, in the transaction that writes the messages. Existing
 * documents are replaced. Messages that do not belong to the account are ignored.
 */
export async function storeDocuments(
  sql: Sql,
  accountId: string,
  messages: readonly (Searchable & { id: string })[],
): Promise<void> {
  if (messages.length === 0) return;
  await sql.query(STORE, [
    accountId,
    idsOf(messages),
    messages.map((message) => documentFor(accountId, searchDocument(message))),
  ]);
}

const INSERT = `
  insert into message_search (message_id, account_id, date, document)
  select x.id, $1, x.date, x.document::tsvector from unnest($2::uuid[], $3::timestamptz[], $4::text[]) x(id, date, document)`;

/**
 * Stores the search documents of messages that were inserted in the same transaction.
 * @param messages.document made by `searchDocument`
 */
export async function insertDocuments(
  sql: Sql,
  accountId: string,
  messages: readonly { id: string; date: Date; document: string }[],
): Promise<void> {
  if (messages.length === 0) return;
  await sql.query(INSERT, [
    accountId,
    ...columnsOf(messages, 'id', 'date'),
    messages.map(({ document }) => documentFor(accountId, document)),
  ]);
}
