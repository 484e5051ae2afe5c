import { markDigest, markIn } from '../../formats/mime/message-mark.ts';
import { headersForMarks, nameStoredCopies } from '../../mail/outbox/sent-by-us.ts';
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
  { incoming, folders: { sent }, mail: { marksSent = false } }: Batch,
  known: { has(providerId: string): boolean },
): Promise<void> {
  if (!marksSent || sent === undefined) return;
  const marked = incoming.flatMap(({ remote: { providerId, folderIds }, parsed }) => {
    const mark = parsed?.headers ? markIn(parsed.headers) : null;
    if (mark === null || known.has(providerId) || !folderIds.includes(sent)) return [];
    const own = parsed?.messageIdHeader ?? null;
    return own !== null && markDigest(own) === mark.digest ? [] : [{ mark, providerId }];
  });
  if (marked.length === 0) return;
  const marks = marked.map(({ mark }) => mark);
  const headers = new Map(
    (await headersForMarks(sql, accountId, marks)).map((one) => [markDigest(one), one]),
  );
  const named = marked.flatMap(({ mark, providerId }) => {
    const messageIdHeader = headers.get(mark.digest);
    return messageIdHeader === undefined ? [] : [{ messageIdHeader, providerId }];
  });
  await nameStoredCopies(sql, accountId, named);
}
