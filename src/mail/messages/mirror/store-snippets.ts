import { columnsOf, idsOf, type Sql } from '../../../platform/database/sql.ts';
import type { Message } from '../message.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

// A draft that is changed meanwhile has another version, and PostgreSQL checks the version again
// after it has waited for the lock. Bodies of other messages never change.
const LOCK = `
  select m.id from unnest($2::uuid[], $3::int[]) x(id, version)
  join message m on m.id = x.id and m.version = x.version
  where m.account_id = $1 order by m.id for no key update of m`;

/**
 * Locks messages until the transaction ends.
 * @returns the ids of the messages that still exist in the given version
 */
export async function lockVersions(
  sql: Sql,
  accountId: string,
  messages: readonly { id: string; version: number }[],
): Promise<Set<string>> {
  if (messages.length === 0) return new Set();
  const rows = await sql.query<{ id: string }>(LOCK, [
    accountId,
    ...columnsOf(messages, 'id', 'version'),
  ]);
  return new Set(idsOf(rows));
}

const STORE = `
  update message m set snippet = x.snippet from unnest($2::uuid[], $3::text[]) x(id, snippet)
  where m.id = x.id and m.account_id = $1 and m.snippet <> x.snippet
  returning m.id, m.thread_id as "threadId", m.snippet`;

/** A message whose snippet was replaced. */
export type MessageSnippet = RowOf<Message, 'id' | 'threadId' | 'snippet'>;

/**
 * Replaces the snippets of messages that the caller has locked. Clients are not notified: the
 * message is the same.
 * @returns the messages whose snippet differed
 */
export async function storeSnippets(
  sql: Sql,
  accountId: string,
  messages: readonly { id: string; snippet: string }[],
): Promise<MessageSnippet[]> {
  if (messages.length === 0) return [];
  return sql.query<MessageSnippet>(STORE, [accountId, ...columnsOf(messages, 'id', 'snippet')]);
}
