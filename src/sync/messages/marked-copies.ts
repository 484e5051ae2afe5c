import { unreportedIds } from '../../mail/messages/mirror/unreported-messages.ts';
import { nameStoredCopies } from '../../mail/outbox/sent-by-us.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { Batch } from './batch-store.ts';

/**
 * Finds the copies in Sent whose Message-ID the provider has replaced, by their marks, and stores
 * which messages they belong to. They are then known as copies that the provider has named.
 * @param known whether the mirror has a message with this provider id
 */
export async function nameMarkedCopies(
  sql: Sql,
  accountId: string,
  { incoming, folders: { sent }, mail: { sentMark } }: Batch,
  known: { has(providerId: string): boolean },
): Promise<void> {
  if (!sentMark || sent === undefined) return;
  const marked = incoming.flatMap(({ remote: { providerId, folderIds }, parsed }) => {
    const mark = parsed?.headers ? sentMark.in(parsed.headers) : null;
    if (mark === null || known.has(providerId) || !folderIds.includes(sent)) return [];
    const own = parsed?.messageIdHeader ?? null;
    return own !== null && sentMark.of(own) === mark ? [] : [[mark, providerId] as const];
  });
  if (marked.length === 0) return;
  const copies = new Map(marked);
  const unreported = await unreportedIds(sql, accountId);
  const named = unreported.flatMap((messageIdHeader) => {
    const providerId = copies.get(sentMark.of(messageIdHeader));
    return providerId === undefined ? [] : [{ messageIdHeader, providerId }];
  });
  await nameStoredCopies(sql, accountId, named);
}
