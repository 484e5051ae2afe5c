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

const DATE = `
  update message_search s set date = x.date from unnest($2::uuid[], $3::timestamptz[]) x(id, date)
  where s.message_id = x.id and s.account_id = $1`;

/** Changes the dates of search documents with those of their messages. */
export async function dateDocuments(
  sql: Sql,
  accountId: string,
  messages: readonly { id: string; date: Date }[],
): Promise<void> {
  if (messages.length > 0) await sql.query(DATE, [accountId, ...columnsOf(messages, 'id', 'date')]);
}

// Most documents stay the same. Their rows are not written.
const REPLACE = `
  with given as materialized (
    select m.id, m.account_id, m.date, x.document::tsvector as document
    from unnest($2::uuid[], $3::text[]) x(id, document) join message m on m.id = x.id and m.account_id = $1),
  replaced as (
    update message_search s set document = g.document, date = g.date from given g
    where s.message_id = g.id and (s.document <> g.document or s.date <> g.date))
  insert into message_search (message_id, account_id, date, document)
  select id, account_id, date, document from given g
  where not exists (select 1 from message_search s where s.message_id = g.id)
  on conflict (message_id) do nothing`;

/**
 * Replaces search documents that differ, and adds missing ones. The caller has locked the messages.
 * @param messages.document made by `searchDocument`
 */
export async function replaceDocuments(
  sql: Sql,
  accountId: string,
  messages: readonly { id: string; document: string }[],
): Promise<void> {
  if (messages.length === 0) return;
  await sql.query(REPLACE, [
    accountId,
    idsOf(messages),
    messages.map(({ document }) => documentFor(accountId, document)),
  ]);
}
