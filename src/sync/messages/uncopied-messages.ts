import { mirroredFolders } from '../../mail/folders/mirror-folders.ts';
import { removeUncopied } from '../../mail/messages/mirror/unreported-messages.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { hasFailures } from '../failures/sync-failures.ts';

/**
 * Removes sent messages without a copy, in the caller's transaction, after a sync pass that has
 * read the mailbox to the end. Removes none while a folder cannot be read (ADR 0119).
 * @returns number of removed messages
 */
export async function removeUncopiedAfterPass(
  sql: Sql,
  accountId: string,
  at: Date,
): Promise<number> {
  const folders = await mirroredFolders(sql, accountId);
  const ids = folders.flatMap(({ providerId }) => providerId ?? []);
  if (await hasFailures(sql, accountId, ids)) return 0;
  return removeUncopied(sql, accountId, at);
}
