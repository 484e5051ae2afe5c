import { columnsOf, type Sql } from '../../platform/database/sql.ts';

// Sync passes and changes lock a thread before they compute its columns.
const LOCK = `
  select 1 from thread where account_id = $1 and id = any($2::uuid[]) order by id for no key update`;

const STORE = `
  update thread_summary s set snippet = x.snippet
  from unnest($1::uuid[], $2::uuid[], $3::text[]) x(thread_id, message_id, snippet)
  where s.thread_id = x.thread_id and s.message_ids[cardinality(s.message_ids)] = x.message_id`;

/**
 * Replaces the snippets of threads whose newest message is one of these. Call it after the messages
 * are locked, in the same transaction.
 */
export async function storeThreadSnippets(
  sql: Sql,
  accountId: string,
  messages: readonly { id: string; threadId: string; snippet: string }[],
): Promise<void> {
  if (messages.length === 0) return;
  await sql.query(LOCK, [accountId, [...new Set(messages.map(({ threadId }) => threadId))]]);
  await sql.query(STORE, columnsOf(messages, 'threadId', 'id', 'snippet'));
}
