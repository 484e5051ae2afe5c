import type { AccountListener } from '../../../accounts/grants/account-listeners.ts';
import { columnsOf, idsOf, type Sql } from '../../../platform/database/sql.ts';
import { keyedDocument } from '../../../formats/text/lexemes.ts';
import { type Searchable, searchDocument } from '../../../formats/text/search-document.ts';
import { writesNewTable } from './stored-documents.ts';

/**
 * Stores the search documents of messages, in the transaction that writes the messages. Existing
 * documents are replaced. Messages that do not belong to the account are ignored.
 */
export function storeDocuments(
  sql: Sql,
  accountId: string,
  messages: readonly (Searchable & { id: string })[],
): Promise<void> {
  const documents = messages.map((message) => ({
    id: message.id,
    document: searchDocument(message),
  }));
  return replaceDocuments(sql, accountId, documents);
}

const INSERT = (table: string) => `
  insert into ${table} (message_id, account_id, date, document)
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
  const isNew = await writesNewTable(sql);
  await sql.query(INSERT(isNew ? 'search_document' : 'message_search'), [
    accountId,
    ...columnsOf(messages, 'id', 'date'),
    documentsOf(accountId, messages, isNew),
  ]);
}

const DATE = `
  with x as (select * from unnest($2::uuid[], $3::timestamptz[]) x(id, date)),
  old as (update message_search d set date = x.date from x where d.message_id = x.id and d.account_id = $1)
  update search_document d set date = x.date from x where d.account_id = $1 and d.message_id = x.id`;

/**
 * Changes the dates of search documents with those of their messages. The caller has locked the
 * messages.
 */
export async function dateDocuments(
  sql: Sql,
  accountId: string,
  messages: readonly { id: string; date: Date }[],
): Promise<void> {
  if (messages.length > 0) await sql.query(DATE, [accountId, ...columnsOf(messages, 'id', 'date')]);
}

const GIVEN = `
  with given as materialized (
    select m.id, m.date, x.document::tsvector as document
    from unnest($2::uuid[], $3::text[]) x(id, document) join message m on m.id = x.id and m.account_id = $1)`;

// Most documents stay the same. Their rows are not written.
const REPLACE = `${GIVEN},
  moved as (delete from message_search d using given g where d.message_id = g.id)
  insert into search_document (account_id, message_id, date, document)
  select $1, id, date, document from given g
  where not exists (
    select 1 from search_document d
    where d.account_id = $1 and d.message_id = g.id and d.document = g.document and d.date = g.date)
  on conflict (account_id, message_id) do update set document = excluded.document, date = excluded.date`;

const REPLACE_OLD = `${GIVEN},
  replaced as (
    update message_search d set document = g.document, date = g.date from given g
    where d.message_id = g.id and (d.document <> g.document or d.date <> g.date))
  insert into message_search (message_id, account_id, date, document)
  select id, $1, date, document from given g
  where not exists (select 1 from message_search d where d.message_id = g.id)
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
  const isNew = await writesNewTable(sql);
  await sql.query(isNew ? REPLACE : REPLACE_OLD, [
    accountId,
    idsOf(messages),
    documentsOf(accountId, messages, isNew),
  ]);
}

const documentsOf = (
  accountId: string,
  messages: readonly { document: string }[],
  isNew: boolean,
): string[] =>
  messages.map(({ document }) => (isNew ? document : keyedDocument(accountId, document)));

const REMOVE = `delete from search_document where account_id = $1 and message_id = any($2::uuid[])`;

/**
 * Deletes the search documents of messages. The caller has deleted the messages in an earlier
 * statement of its transaction: a document that was being moved then is in its new place now.
 */
export async function removeDocuments(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<void> {
  // Documents in the old table are deleted by their foreign key.
  await sql.query(REMOVE, [accountId, ids]);
}

/** Search documents of an account that is emptied: its row is locked, so none is being moved. */
export const DOCUMENTS_OF_ACCOUNT: AccountListener = {
  mirrorDeletions: ['delete from search_document where account_id = $1'],
};
