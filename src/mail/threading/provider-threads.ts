import type { Sql } from '../../platform/database/sql.ts';

/*
 * Threads of providers. `thread_reference` has their ids next to Message-IDs. A Message-ID begins
 * with an angle bracket, so the two kinds of keys cannot be mistaken for each other.
 */

const PREFIX = 'thread:';

/** Key of a provider's thread in `thread_reference`. */
export const providerThreadKey = (providerThreadId: string): string =>
  `${PREFIX}${providerThreadId}`;

const PROVIDER_THREAD = `
  select substr(message_id_header, ${PREFIX.length + 1}) as id from thread_reference
  where account_id = $1 and thread_id = $2 and starts_with(message_id_header, '${PREFIX}')
  order by message_id_header limit 1`;

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
  const [row] = await sql.query<{ id: string }>(PROVIDER_THREAD, [accountId, threadId]);
  return row?.id ?? null;
}
