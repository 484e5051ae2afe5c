import type { Sql } from '../../platform/database/sql.ts';
import type { ThreadReference } from './thread-reference.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/*
 * Threads of providers. `thread_reference` has their ids next to Message-IDs. A Message-ID begins
 * with an angle bracket, so the two kinds of keys cannot be mistaken for each other.
 */

const PREFIX = 'thread:';

/** Key of a provider's thread in `thread_reference`. */
export const providerThreadKey = (providerThreadId: string): string =>
  `${PREFIX}${providerThreadId}`;

const PROVIDER_THREADS = `
  select thread_id as "threadId", substr(min(message_id_header), ${PREFIX.length + 1}) as id from thread_reference
  where account_id = $1 and thread_id = any($2::uuid[]) and starts_with(message_id_header, '${PREFIX}')
  group by thread_id`;

/**
 * The provider's ids of threads, by our thread id. Threads that the provider does not know are left
 * out. See `providerThreadOf`.
 */
export async function providerThreadsOf(
  sql: Sql,
  accountId: string,
  threadIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await sql.query<RowOf<ThreadReference, 'threadId'> & { id: string }>(
    PROVIDER_THREADS,
    [accountId, threadIds],
  );
  return new Map(rows.map(({ threadId, id }) => [threadId, id]));
}

/**
 * SQL expression of what `providerThreadOf` returns.
 * @param accountId SQL expression of the account's id
 * @param threadId SQL expression of our thread's id
 */
export const providerThreadSql = (accountId: string, threadId: string): string => `
  (select substr(t.message_id_header, ${PREFIX.length + 1}) from thread_reference t
   where t.account_id = ${accountId} and t.thread_id = ${threadId} and starts_with(t.message_id_header, '${PREFIX}')
   order by t.message_id_header limit 1)`;

/**
 * The provider's id of a thread, with which a message or draft joins that thread at the provider.
 * @returns the first id if several threads of the provider are one thread here; `null` if the
 *   provider has no threads or does not know this one
 */
export async function providerThreadOf(
  sql: Sql,
  accountId: string,
  threadId: string,
): Promise<string | null> {
  return (await providerThreadsOf(sql, accountId, [threadId])).get(threadId) ?? null;
}
